import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { isCanonicalToken, tokenHash } from './id-token.js';

const [header, payload] = ['{"alg":"RS256"}', '{"sub":"a"}'].map((text) => Buffer.from(text).toString('base64url'));
// 16 bytes leave four unused bits in the last character.
const signature = Buffer.alloc(16, 7).toString('base64url');
const token = [header, payload, signature].join('.');

/** Another last character that decodes to the same bytes. */
function respelled(text: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return text.slice(0, -1) + alphabet[alphabet.indexOf(text.slice(-1)) + 1];
}

describe('isCanonicalToken', () => {
  it('accepts a canonical token', () => {
    expect(isCanonicalToken(token)).toBe(true);
  });

  it('tests with a non-canonical token that decodes to the same bytes', () => {
    expect(Buffer.from(respelled(signature), 'base64url')).toEqual(Buffer.from(signature, 'base64url'));
  });

  it.each([
    ['the last character changed', `${header}.${payload}.${respelled(signature)}`],
    ['a blank in the signature', `${header}.${payload}.${signature.slice(0, 4)} ${signature.slice(4)}`],
    ['a line break at the end', `${token}\n`],
    ['padding', `${token}==`],
    ['the alphabet of base64', `${header}.${payload}.+/8`],
    ['a character that is not in the alphabet', `${header}.${payload}.${signature}*`],
    ['two parts', `${header}.${payload}`],
    ['four parts', `${token}.AA`],
    ['an empty signature', `${header}.${payload}.`],
    ['nothing', ''],
  ])('refuses %s', (_what, text) => {
    expect(isCanonicalToken(text)).toBe(false);
  });
});

describe('tokenHash', () => {
  it('is the SHA-256 of header and payload', () => {
    expect(tokenHash(token)).toEqual(createHash('sha256').update(`${header}.${payload}`).digest());
  });

  it('is the same for every signature of the same claims', () => {
    expect(tokenHash(`${header}.${payload}.AAAA`)).toEqual(tokenHash(token));
  });

  it('differs for other claims', () => {
    expect(tokenHash(`${header}.${header}.${signature}`)).not.toEqual(tokenHash(token));
  });
});
