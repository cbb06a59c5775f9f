import { describe, expect, it } from '@jest/globals';
import { readCredentials } from './credentials.js';

describe('credentials of a handshake', () => {
  it('come from the headers', () => {
    expect(readCredentials({ 'x-token': 't', 'x-signature': 's', 'x-timezone': 'UTC' }, undefined)).toEqual({
      'x-token': 't',
      'x-signature': 's',
      'x-timezone': 'UTC',
    });
  });

  it('come from auth, which wins entry by entry', () => {
    const headers = { 'x-token': 'of the header', 'x-device-id': 'device' };
    expect(readCredentials(headers, { 'x-token': 'of auth' })).toEqual({
      'x-token': 'of auth',
      'x-device-id': 'device',
    });
  });

  it('hold nothing but the documented names and text', () => {
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

  it('uses the header when the entry of auth is not a string', () => {
    expect(readCredentials({ 'x-token': 't' }, { 'x-token': ['u'] })).toEqual({ 'x-token': 't' });
  });

  it.each([null, 'text', 7, ['x-token']])('ignore an auth that is %j', (auth) => {
    expect(readCredentials({ authorization: 'Bearer t' }, auth)).toEqual({ authorization: 'Bearer t' });
  });
});
