import { describe, expect, it } from '@jest/globals';
import { readCredentials } from './credentials.js';

describe('readCredentials', () => {
  it('reads credentials from the headers', () => {
    expect(readCredentials({ 'x-token': 't', 'x-signature': 's', 'x-timezone': 'UTC' }, undefined)).toEqual({
      'x-token': 't',
      'x-signature': 's',
      'x-timezone': 'UTC',
    });
  });

  it('prefers entries of auth to headers, entry by entry', () => {
    const headers = { 'x-token': 'from the header', 'x-device-id': 'device' };
    expect(readCredentials(headers, { 'x-token': 'from auth' })).toEqual({
      'x-token': 'from auth',
      'x-device-id': 'device',
    });
  });

  it('ignores undocumented names and values that are not strings', () => {
    const auth = {
      'x-token': 7,
      'x-timestamp': null,
      'x-version': { a: 1 },
      'x-signature': '',
      cookie: 'c',
      'X-Token': 'upper',
    };
    expect(readCredentials({ cookie: 'session', host: 'here' }, auth)).toEqual({});
  });

  it('uses the header if the entry of auth is not a string', () => {
    expect(readCredentials({ 'x-token': 't' }, { 'x-token': ['u'] })).toEqual({ 'x-token': 't' });
  });

  it.each([null, 'text', 7, ['x-token']])('ignores an auth value of %j', (auth) => {
    expect(readCredentials({ authorization: 'Bearer t' }, auth)).toEqual({ authorization: 'Bearer t' });
  });
});
