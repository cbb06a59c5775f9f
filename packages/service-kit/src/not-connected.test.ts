import { describe, expect, it } from '@jest/globals';
import { isNotConnected } from './not-connected.js';

const withCode = (code: string): Error => Object.assign(new Error(code), { code });

describe('isNotConnected', () => {
  it.each([
    'ECONNREFUSED',
    'EAI_AGAIN',
    'UND_ERR_CONNECT_TIMEOUT',
    'EPROTO',
    'ERR_TLS_CERT_ALTNAME_INVALID',
    'ERR_SSL_WRONG_VERSION_NUMBER',
    'CERT_HAS_EXPIRED',
    'DEPTH_ZERO_SELF_SIGNED_CERT',
    'SELF_SIGNED_CERT_IN_CHAIN',
    'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
    'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  ])('is true for %s, also as a cause or as one of several addresses', (code) => {
    expect(isNotConnected(withCode(code))).toBe(true);
    expect(isNotConnected(new TypeError('fetch failed', { cause: withCode(code) }))).toBe(true);
    const several = new AggregateError([withCode(code)], 'every address failed');
    expect(isNotConnected(new Error('fetch failed', { cause: several }))).toBe(true);
  });

  it.each(['ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'UND_ERR_SOCKET', 'UND_ERR_HEADERS_TIMEOUT'])(
    'is false for %s, after which a request may have been sent',
    (code) => expect(isNotConnected(withCode(code))).toBe(false),
  );

  it.each([[undefined], [null], ['ECONNREFUSED'], [new Error('other')]])('is false for %s', (error) => {
    expect(isNotConnected(error)).toBe(false);
  });
});
