import { describe, expect, it } from '@jest/globals';
import { databaseTlsWarning } from './database-tls.js';

describe('the warning about the TLS mode of the database', () => {
  const PASSWORD = 'pass-word-of-the-database';
  const url = (host: string, query = ''): string => `postgres://uswarm:${PASSWORD}@${host}/uswarm${query}`;

  it.each(['?sslmode=require', '?sslmode=verify-ca', '?sslmode=prefer', '?sslmode=disable', ''])(
    'is given for a remote host with "%s", and does not print the password',
    (query) => {
      const warning = databaseTlsWarning(url('db.example.com:5432', query));
      expect(warning).toContain('use sslmode=verify-full');
      expect(warning).not.toContain(PASSWORD);
    },
  );

  it.each(['203.0.113.7:5432', '10.0.0.5', '[2001:db8::5]'])('is given for the address %s', (host) => {
    expect(databaseTlsWarning(url(host))).toBeDefined();
  });

  it('is not given if the certificate is verified in full', () => {
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
  ])('is not given for %s, which is on this machine or in the cluster', (host) => {
    expect(databaseTlsWarning(url(host))).toBeUndefined();
  });

  it('is not given for a Unix socket in the parameters', () => {
    expect(databaseTlsWarning('postgres:///uswarm?host=/var/run/postgresql')).toBeUndefined();
  });
});
