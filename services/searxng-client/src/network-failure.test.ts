import { describe, expect, it } from '@jest/globals';
import { networkFailure } from './network-failure.js';

describe('a failed request', () => {
  it.each([
    ['ECONNREFUSED', 'connection refused'],
    ['CERT_HAS_EXPIRED', 'the certificate has expired'],
    ['Z_BUF_ERROR', 'malformed data'],
    ['ANOTHER', 'the request failed'],
  ])('has a reason for a search and for a page: %s', (code, reason) => {
    expect(networkFailure(Object.assign(new Error('secret'), { code }))).toBe(reason);
  });

  it('has a reason also without a code', () => {
    expect([undefined, new Error('secret')].map(networkFailure)).toEqual(Array(2).fill('the request failed'));
  });
});
