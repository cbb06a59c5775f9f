import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import fc from 'fast-check';
import { createSignatureCheck, noSignatureCheck, parseTimestamp, sign } from './signature.js';

const SECRET = 'a-shared-secret';
const NOW = Date.parse('2026-11-21T10:00:00.000Z');
const check = createSignatureCheck([SECRET], { now: () => new Date(NOW) });

/** @returns the error code; undefined if the pair is accepted */
function refusal(sent: {
  token?: string;
  signature?: string | undefined;
  timestamp?: string | undefined;
}): string | undefined {
  const token = sent.token ?? 'token';
  const timestamp = 'timestamp' in sent ? sent.timestamp : String(NOW);
  const signature = 'signature' in sent ? sent.signature : sign(SECRET, token, timestamp ?? '');
  try {
    check.check({ token, signature, timestamp });
    return undefined;
  } catch (error) {
    return error instanceof ApiError ? error.code : String(error);
  }
}

describe('sign', () => {
  it('returns the HMAC-SHA256 of token, colon and timestamp', () => {
    // printf 'ID_TOKEN:1700000000' | openssl dgst -sha256 -hmac a-shared-secret
    expect(sign(SECRET, 'ID_TOKEN', '1700000000')).toBe(
      '8afcbc8089625a76c86d277f1cd5f1359fc34a9e23408c2e91d61bcd1cf863b1',
    );
  });
});

describe('parseTimestamp', () => {
  it.each([
    ['0', 0],
    ['1763719200', 1_763_719_200_000],
    ['1763719200123', 1_763_719_200_123],
    ['2026-11-21T10:00:00Z', NOW],
    ['2026-11-21T10:00Z', NOW],
    ['2026-11-21T10:00:00.000Z', NOW],
    ['2026-11-21T10:00:00.000000001Z', NOW],
    ['2026-11-21T11:30:00+01:30', NOW],
    ['2026-11-21T08:00:00-02:00', NOW],
  ])('reads %s', (text, milliseconds) => {
    expect(parseTimestamp(text)).toBe(milliseconds);
  });

  it.each([
    '',
    ' ',
    '-1',
    '1.5',
    '1e9',
    '0x10',
    '123456789012345',
    '2026-11-21',
    '2026-11-21T10:00:00',
    '2026-11-21 10:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-11-21T25:00:00Z',
    'now',
    ' 1763719200',
    '１７６３７１９２００',
  ])('rejects %j', (text) => {
    expect(parseTimestamp(text)).toBeUndefined();
  });
});

describe('the signature check', () => {
  it.each([
    ['seconds', String(NOW / 1000)],
    ['milliseconds', String(NOW)],
    ['ISO 8601', '2026-11-21T10:00:00Z'],
    ['ISO 8601 with an offset', '2026-11-21T12:00:00+02:00'],
  ])('accepts a timestamp in %s that is signed as sent', (_form, timestamp) => {
    expect(refusal({ timestamp })).toBeUndefined();
  });

  it.each([
    [0, undefined],
    [300_000, undefined],
    [-300_000, undefined],
    [300_001, 'timestamp_out_of_window'],
    [-300_001, 'timestamp_out_of_window'],
  ])('rejects a clock skew of %d ms with %s', (off, code) => {
    expect(refusal({ timestamp: String(NOW + off) })).toBe(code);
  });

  it.each([
    ['signature', { signature: undefined }],
    ['timestamp', { timestamp: undefined }],
  ])('requires the %s', (_what, sent) => {
    expect(refusal(sent)).toBe('signature_missing');
  });

  it('rejects a malformed timestamp', () => {
    expect(refusal({ timestamp: 'today' })).toBe('timestamp_invalid');
  });

  it('accepts hexadecimal digits in upper and lower case', () => {
    expect(refusal({ signature: sign(SECRET, 'token', String(NOW)).toUpperCase() })).toBeUndefined();
  });

  it.each([
    ['another token', sign(SECRET, 'other', String(NOW))],
    ['another timestamp', sign(SECRET, 'token', String(NOW + 1))],
    ['another secret', sign('another', 'token', String(NOW))],
    ['a truncated signature', sign(SECRET, 'token', String(NOW)).slice(0, -1)],
    ['an empty signature', ''],
    ['other characters', 'ü'.repeat(32)],
    ['base64', Buffer.from(sign(SECRET, 'token', String(NOW)), 'hex').toString('base64')],
  ])('rejects a signature: %s', (_what, signature) => {
    expect(refusal({ signature })).toBe('signature_invalid');
  });

  it('accepts the signature of any token, and rejects it if one digit is changed', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), fc.nat({ max: 63 }), (token, at) => {
        const signature = sign(SECRET, token, String(NOW));
        const other = signature[at] === '0' ? '1' : '0';
        const changed = signature.slice(0, at) + other + signature.slice(at + 1);
        expect(refusal({ token, signature })).toBeUndefined();
        expect(refusal({ token, signature: changed })).toBe('signature_invalid');
      }),
    );
  });

  it('requires nothing in local mode', () => {
    expect(() => noSignatureCheck.check({ token: 't', signature: undefined, timestamp: undefined })).not.toThrow();
  });
});
