import { describe, expect, it } from '@jest/globals';
import { databaseTlsWarning } from './database-tls.js';

describe('databaseTlsWarning', () => {
  const PASSWORD = 'pass-word-of-the-database';
  const url = (host: string, query = ''): string => `postgres://uswarm:${PASSWORD}@${host}/uswarm${query}`;

  it.each(['?sslmode=require', '?sslmode=verify-ca', '?sslmode=prefer', '?sslmode=disable', ''])(
    'warns about a remote host with "%s" without printing the password',
    (query) => {
      const warning = databaseTlsWarning(url('db.example.com:5432', query));
      expect(warning).toContain('use sslmode=verify-full');
      expect(warning).not.toContain(PASSWORD);
    },
  );

  it.each(['203.0.113.7:5432', '10.0.0.5', '[2001:db8::5]'])('warns about the address %s', (host) => {
    expect(databaseTlsWarning(url(host))).toBeDefined();
  });

  it('returns undefined if the certificate is fully verified', () => {
    expect(databaseTlsWarning(url('db.example.com', '?sslmode=verify-full'))).toBeUndefined();
  });

  it.each([
    'localhost',
    '127.0.0.1:5432',
    '[::1]:5432',
    'postgres',
    'uswarm-postgres.backend.svc.cluster.local:5432',
    'postgres.backend.svc',
    '%2Fvar%2Frun%2Fpostgresql',
  ])('returns undefined for %s, which is on this machine or in the cluster', (host) => {
    expect(databaseTlsWarning(url(host))).toBeUndefined();
  });

  it('returns undefined for a Unix socket in the parameters', () => {
    expect(databaseTlsWarning('postgres:///uswarm?host=/var/run/postgresql')).toBeUndefined();
  });
});
