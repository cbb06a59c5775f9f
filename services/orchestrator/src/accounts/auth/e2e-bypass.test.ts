import { describe, expect, it } from '@jest/globals';
import { createEndToEndBypass } from './e2e-bypass.js';

const TOKEN = 't'.repeat(32);

describe('the end-to-end bypass', () => {
  it.each([
    ['0 bytes', ''],
    ['31 bytes', 't'.repeat(31)],
  ])('needs a token of at least 32 bytes, not %s', (_what, token) => {
    expect(() => createEndToEndBypass(token)).toThrow(/E2E_TOKEN needs at least 32 bytes/);
  });

  it('counts bytes, not characters', () => {
    expect(() => createEndToEndBypass('ü'.repeat(16))).not.toThrow();
  });

  it('does not apply without its header', () => {
    expect(createEndToEndBypass(TOKEN).identify({ 'x-e2e-uid': 'u', 'x-token': 'x' })).toBeUndefined();
  });

  it('returns the identity that the headers name, with a separate issuer', () => {
    const headers = { 'x-e2e-token': TOKEN, 'x-e2e-uid': 'u', 'x-e2e-email': 'u@example.com', 'x-e2e-name': 'U' };
    expect(createEndToEndBypass(TOKEN).identify(headers)).toEqual({
      token: TOKEN,
      identity: {
        issuer: 'e2e',
        subject: 'u',
        email: 'u@example.com',
        name: 'U',
        expiresAt: null,
        issuedAt: null,
        authenticatedAt: null,
      },
    });
  });

  it.each([
    ['a wrong token', { 'x-e2e-token': `${'t'.repeat(31)}u`, 'x-e2e-uid': 'u' }],
    ['a longer token', { 'x-e2e-token': `${TOKEN}t`, 'x-e2e-uid': 'u' }],
    ['no uid', { 'x-e2e-token': TOKEN }],
  ])('rejects %s', (_what, headers) => {
    expect(() => createEndToEndBypass(TOKEN).identify(headers)).toThrow(
      expect.objectContaining({ code: 'token_invalid' }),
    );
  });
});
