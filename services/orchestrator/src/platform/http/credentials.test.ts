import { describe, expect, it } from '@jest/globals';
import { bearerToken, readCredentials } from './credentials.js';

describe('readCredentials', () => {
  it('returns only the authentication headers', () => {
    const taken = {
      'x-token': 't',
      authorization: 'Bearer b',
      'x-e2e-uid': 'u',
      'x-timestamp': '1',
      'x-version': '2.0.1',
    };
    expect(readCredentials({ ...taken, cookie: 'c', host: 'h', 'x-other': 'o' })).toEqual(taken);
  });

  it('omits repeated, empty and absent headers', () => {
    expect(readCredentials({ 'x-token': ['a', 'b'], 'x-signature': '', authorization: undefined })).toEqual({});
  });
});

describe('bearerToken', () => {
  it.each([
    ['Bearer abc', 'abc'],
    ['bearer abc', 'abc'],
    ['BEARER   abc', 'abc'],
    ['Bearer', undefined],
    ['Bearer ', undefined],
    ['Bearer a b', undefined],
    ['Basic abc', undefined],
    ['abc', undefined],
    [undefined, undefined],
  ])('reads from %j the token %j', (header, token) => {
    expect(bearerToken(header)).toBe(token);
  });
});
