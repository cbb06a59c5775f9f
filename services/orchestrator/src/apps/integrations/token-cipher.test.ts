import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createTokenCipher, DecryptionError, type TokenKey, TokenKeys, type TokenOwner } from './token-cipher.js';

const key = (id: string): TokenKey => ({ id, key: randomBytes(32) });
const owner: TokenOwner = { userId: '0192d3a4-0000-7000-8000-000000000001', provider: 'gmail' };
const tokens = { accessToken: 'access-token-in-the-clear', refreshToken: 'refresh-token-in-the-clear' };

describe('encrypted tokens', () => {
  const [old, current] = [key('old'), key('new')];
  const cipher = createTokenCipher([current, old]);

  it('are decrypted unchanged, with and without a refresh token', () => {
    for (const held of [tokens, { accessToken: 'only' }])
      expect(cipher.open(cipher.seal(held, owner), owner)).toEqual(held);
  });

  it('do not contain the plain text', () => {
    const { keyId, sealed } = cipher.seal(tokens, owner);
    expect(keyId).toBe('new');
    expect(sealed.toString('latin1')).not.toMatch(/clear|Token/);
  });

  it('have a different ciphertext each time', () => {
    expect(cipher.seal(tokens, owner).sealed.equals(cipher.seal(tokens, owner).sealed)).toBe(false);
  });

  it('can be decrypted with an older accepted key', () => {
    expect(cipher.open(createTokenCipher([old]).seal(tokens, owner), owner)).toEqual(tokens);
  });

  it('cannot be decrypted without their key', () => {
    const sealed = createTokenCipher([old]).seal(tokens, owner);
    expect(() => createTokenCipher([current]).open(sealed, owner)).toThrow(new DecryptionError('there is no key old'));
  });

  it.each<[string, TokenOwner]>([
    ['another user', { ...owner, userId: owner.userId.replace(/1$/, '2') }],
    ['another provider', { ...owner, provider: 'google_calendar' }],
  ])('cannot be decrypted in the row of %s', (_whose, other) => {
    const sealed = cipher.seal(tokens, owner);
    expect(() => cipher.open(sealed, other)).toThrow(DecryptionError);
  });

  it('cannot be modified, and the error does not reveal the reason', () => {
    const { keyId, sealed } = cipher.seal(tokens, owner);
    for (const at of [0, 12, sealed.length - 1]) {
      const changed = Buffer.from(sealed);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => cipher.open({ keyId, sealed: changed }, owner)).toThrow(DecryptionError);
    }
    for (const bytes of [Buffer.alloc(0), Buffer.alloc(20)]) {
      expect(() => cipher.open({ keyId, sealed: bytes }, owner)).toThrow(DecryptionError);
    }
  });
});

describe('the key setting', () => {
  const encoded = randomBytes(32).toString('base64');

  it('lists the encryption key first', () => {
    const keys = TokenKeys.parse(`2026-11:${encoded}, 2026-10:${encoded}`);
    expect(keys.map(({ id, key: { length } }) => [id, length])).toEqual([
      ['2026-11', 32],
      ['2026-10', 32],
    ]);
  });

  it.each([
    '',
    encoded,
    `a:${encoded},`,
    `a:${randomBytes(16).toString('base64')}`,
    `a:${encoded},a:${encoded}`,
    `a b:${encoded}`,
  ])('is not %s', (text) => {
    expect(TokenKeys.safeParse(text).error?.message).toContain('needs <id>:<32 bytes as base64>');
  });
});
