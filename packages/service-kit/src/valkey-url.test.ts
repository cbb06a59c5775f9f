import { describe, expect, it } from '@jest/globals';
import { parseValkeyUrl } from './valkey-url.js';

describe('a Valkey URL', () => {
  it('names one server', () => {
    expect(parseValkeyUrl('rediss://uswarm:a%40b%3Ac@valkey.example.com/3')).toEqual({
      kind: 'single',
      nodes: [{ host: 'valkey.example.com', port: 6379 }],
      tls: true,
      credentials: { username: 'uswarm', password: 'a@b:c' },
      database: 3,
    });
    expect(parseValkeyUrl('redis://:secret@[::1]:7000')).toMatchObject({
      nodes: [{ host: '::1', port: 7_000 }],
      tls: false,
      credentials: { password: 'secret' },
      database: 0,
    });
  });

  it('names nodes of a cluster', () => {
    expect(parseValkeyUrl('rediss-cluster://uswarm:pw@a:7001,b')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: 'a', port: 7_001 },
        { host: 'b', port: 6_379 },
      ],
      tls: true,
      credentials: { username: 'uswarm', password: 'pw' },
      database: 0,
    });
  });

  it('names sentinels, with their own credentials', () => {
    const url = 'redis-sentinel://:pw@a,b:5000/1?master=mymaster&sentinelUsername=s&sentinelPassword=p%26q';
    expect(parseValkeyUrl(url)).toEqual({
      kind: 'sentinel',
      nodes: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 5_000 },
      ],
      tls: false,
      credentials: { password: 'pw' },
      database: 1,
      sentinel: { master: 'mymaster', credentials: { username: 's', password: 'p&q' } },
    });
  });

  it.each([
    ['http://valkey', 'must be redis://'],
    ['redis://', 'must be redis://'],
    ['redis://a,b', 'takes one host'],
    ['redis-cluster://a,', 'host'],
    ['redis://a:port', 'host'],
    ['redis://:secret%@a', 'percent-encoded'],
    ['redis-sentinel://a', 'requires ?master='],
  ])('rejects %s', (url, problem) => {
    expect(() => parseValkeyUrl(url)).toThrow(problem);
    expect(() => parseValkeyUrl(url)).not.toThrow(/secret/);
  });
});
