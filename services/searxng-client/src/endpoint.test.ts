import { describe, expect, it } from '@jest/globals';
import { type Credentials, readEndpoint, resolveEndpoint, shownEndpoint } from './endpoint.js';

const env = { SVC_SEARCH_ENDPOINT: 'http://from-env:1' };

describe('resolveEndpoint', () => {
  it('TOOL-003: returns the address in the cluster by default', () => {
    expect(resolveEndpoint({ env: {} })).toBe('http://searxng.backend.svc.cluster.local:8080');
  });

  it('TOOL-004: returns SVC_SEARCH_ENDPOINT if it is set', () => {
    expect(resolveEndpoint({ env })).toBe('http://from-env:1');
  });

  it('TOOL-005: prefers the flag to the variable', () => {
    expect(resolveEndpoint({ flag: 'http://from-flag:2', env })).toBe('http://from-flag:2');
  });

  it('TOOL-030: returns an empty endpoint if it is explicitly empty', () => {
    expect(resolveEndpoint({ env: { SVC_SEARCH_ENDPOINT: '' } })).toBe('');
    expect(resolveEndpoint({ flag: '', env })).toBe('');
  });
});

describe('shownEndpoint', () => {
  it.each([
    ['http://user:hunter2@search.example.com:8888/sub/', 'http://search.example.com:8888/sub'],
    ['https://token@search.example.com', 'https://search.example.com'],
    ['', ''],
  ])('shows %j without credentials', (endpoint, shown) => {
    expect(shownEndpoint(endpoint)).toBe(shown);
  });
});

describe('readEndpoint', () => {
  const authorizationOf = (endpoint: string, credentials?: Credentials): string | undefined => {
    const { authorization } = readEndpoint(endpoint, '', credentials);
    return authorization === undefined
      ? undefined
      : Buffer.from(authorization.replace(/^Basic /, ''), 'base64').toString('utf8');
  };

  it.each([
    ['http://user:pass@host', 'user:pass'],
    ['http://user:p%40ss%2F%3a%25@host', 'user:p@ss/:%'],
    ['http://user:p@ss@host', 'user:p@ss'],
    ['http://us%C3%A9r:p%C3%A4ss@host', 'usér:päss'],
    ['http://usér:päß€@host', 'usér:päß€'],
    ['http://user:100%@host', 'user:100%'],
    ['http://user:a+b%20c@host', 'user:a+b c'],
    ['http://token@host', 'token:'],
    ['http://:secret@host', ':secret'],
    ['https://user:a:b@[::1]:8888/searx', 'user:a:b'],
    ['http://host', undefined],
    ['http://@host', undefined],
  ])('reads the credentials of %s', (endpoint, credentials) => {
    expect(authorizationOf(endpoint)).toBe(credentials);
  });

  it('prefers the credentials of the URL to separate ones', () => {
    const separate = { username: 'separate', password: 'p:w' };
    expect(authorizationOf('http://host', separate)).toBe('separate:p:w');
    expect(authorizationOf('http://user:pass@host', separate)).toBe('user:pass');
  });

  it('removes the credentials from the URL', () => {
    expect(readEndpoint('http://user:pass@host/sub', '').url.href).toBe('http://host/sub');
  });

  it.each(['http://user:12/hunter2@host', 'http://user:12?hunter2@host', 'http://user:12#hunter2@host'])(
    'rejects %s, whose password is not encoded, without repeating it',
    (endpoint) => {
      expect(() => readEndpoint(endpoint, '')).toThrow(
        expect.objectContaining({ code: 'invalid_endpoint', message: expect.not.stringContaining('hunter2') }),
      );
    },
  );
});
