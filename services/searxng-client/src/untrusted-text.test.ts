import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cleanLines, cleanText } from './untrusted-text.js';

describe('cleanText', () => {
  it.each([
    ['escape sequences', '\u001b[31mred\u0007', '[31mred'],
    ['zero-width marks', 'zero\u200bwidth\u2060\ufeff', 'zerowidth'],
    ['bidi overrides', '\u202egnp.exe\u2069', 'gnp.exe'],
    ['tag characters', `hi${String.fromCodePoint(0xe0049, 0xe0067, 0xe007f)}`, 'hi'],
    ['variation selectors', `a\ufe00${String.fromCodePoint(0xe0101)}`, 'a'],
    ['fillers', '\u3164\u115fx', 'x'],
    ['line breaks', 'one\r\n2. two\u2028three\u0085four', 'one 2. two threefour'],
    ['lone surrogates', 'a\ud800b', 'a\ufffdb'],
  ])('drops or flattens %s', (_, text, clean) => {
    expect(cleanText(text, 100)).toBe(clean);
  });

  it.each(['Grüße, 世界', 'नमस्ते', 'naïve café', '😀 ok', 'a < b && c > d'])('keeps %j unchanged', (text) => {
    expect(cleanText(text, 100)).toBe(text);
  });

  it('returns one line of visible text within the limit for any input', () => {
    const anyText = fc.string({ unit: 'binary', maxLength: 300 });
    fc.assert(
      fc.property(anyText, fc.integer({ min: 1, max: 100 }), (text, limit) => {
        const clean = cleanText(text, limit);
        expect([...clean].length).toBeLessThanOrEqual(limit);
        expect(clean).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]| {2}|^ | $/u);
      }),
    );
  });
});

describe('cleanLines', () => {
  it('removes blanks at the ends of lines, invisible characters, and all but one of several empty lines', () => {
    expect(cleanLines('\n one \t\r\n  \n\n\n two\u200b three\u00a0\u2028four  ')).toBe('one\n\n two three\nfour');
  });

  it.each([
    ['blanks', ' '],
    ['tabs and blanks', '\t '],
    ['no-break spaces', '\u00a0'],
    ['empty lines', '\n \n'],
    ['invisible characters', '\u200b '],
  ])('cleans a long run of %s in linear time', (_, piece) => {
    const run = piece.repeat(600_000 / piece.length);
    const start = performance.now();
    expect(cleanLines(`a${run}b`)).toMatch(/^a\s+b$/);
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
