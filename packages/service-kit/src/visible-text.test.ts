import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { capped, visibleJson, visibleText } from './visible-text.js';

describe('untrusted text', () => {
  it.each([
    ['a bidirectional override', 'safe\u202Etxt.exe', 'safetxt.exe'],
    ['isolates and marks', '\u2066a\u2069\u200E\u061C', 'a'],
    ['zero-width characters', 'i\u200Bg\u200Cn\u200Do\uFEFFre', 'ignore'],
    ['tag characters', 'hi\u{E0041}\u{E007F}', 'hi'],
    ['variation selectors', 'a\u{E0100}b\uFE0F', 'ab'],
    ['controls', 'a\u0000\u001B[31mb\u0085', 'a[31mb'],
    ['half a surrogate pair', 'a\uD800b', 'a\uFFFDb'],
  ])('is stripped of %s', (_name, text, expected) => {
    expect(visibleText(text)).toBe(expected);
  });

  it('keeps line breaks, tabs, emoji and every script', () => {
    const text = 'a\tb\nДа 日本 عربي 😀';
    expect(visibleText(text)).toBe(text);
  });

  it('is cleaned in keys and strings at any depth', () => {
    expect(visibleJson({ 'k\u200B': ['v\u202E', { n: 1, t: true, z: null }] })).toEqual({
      k: ['v', { n: 1, t: true, z: null }],
    });
  });

  it('is unchanged if it fits', () => {
    expect(capped('né', 3)).toBe('né');
  });

  it('is truncated without splitting a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.integer({ min: 1, max: 40 }), (text, limit) => {
        fc.pre(Buffer.byteLength(text) > limit);
        const [kept = ''] = capped(text, limit).split('\n[cut:');
        expect(text.startsWith(kept)).toBe(true);
        expect(Buffer.byteLength(kept)).toBeGreaterThan(limit - 4);
        expect(Buffer.byteLength(kept)).toBeLessThanOrEqual(limit);
      }),
    );
  });
});
