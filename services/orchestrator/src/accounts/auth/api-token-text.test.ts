import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createTokenText, isApiToken, isWellFormed } from './api-token-text.js';

const KNOWN = `uswarm_pat_${'0'.repeat(40)}2kaqcA`;

describe('the text of an API token', () => {
  it('has the documented prefix, 40 random characters and a checksum of six', () => {
    expect(createTokenText()).toMatch(/^uswarm_pat_[0-9A-Za-z]{46}$/);
  });

  it('is another one each time', () => {
    expect(new Set(Array.from({ length: 1_000 }, createTokenText)).size).toBe(1_000);
  });

  it('is well-formed', () => {
    expect(Array.from({ length: 100 }, createTokenText).every(isWellFormed)).toBe(true);
  });

  it('has the CRC-32 of its secret in base 62 as checksum, which other programs can compute', () => {
    expect(isWellFormed(KNOWN)).toBe(true);
  });

  it('is refused with any other character in place of one', () => {
    const alphabet = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_. '];
    fc.assert(
      fc.property(fc.nat(45), fc.constantFrom(...alphabet), (n, other) => {
        const token = createTokenText();
        const at = token.length - 1 - n;
        fc.pre(token[at] !== other);
        expect(isWellFormed(token.slice(0, at) + other + token.slice(at + 1))).toBe(false);
      }),
    );
  });

  it.each(['', 'uswarm_pat_', `${KNOWN}\n`, `${KNOWN}0`, KNOWN.slice(0, -1), KNOWN.toUpperCase()])(
    'is not %j',
    (text) => {
      expect(isWellFormed(text)).toBe(false);
    },
  );

  it('is told from an ID token by its prefix, also with a typing error', () => {
    expect(['uswarm_pat_x', 'eyJhbGciOiJSUzI1NiJ9.e30.c2ln'].map(isApiToken)).toEqual([true, false]);
  });
});
