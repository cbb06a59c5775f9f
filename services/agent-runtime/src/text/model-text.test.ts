import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createModelText } from './model-text.js';

/** Cleans a text that arrives in pieces of UTF-16 code units. */
function clean(text: string, cuts: readonly number[] = []): string {
  const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((left, right) => left - right), text.length];
  const cleaner = createModelText();
  return (
    at
      .slice(1)
      .map((end, index) => cleaner.add(text.slice(at[index], end)))
      .join('') + cleaner.end()
  );
}

const KEPT = [
  ['a family', '\u{1f469}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}'],
  ['a profession with a skin tone', '\u{1f469}\u{1f3fd}\u200d\u{1f680}'],
  ['the rainbow flag', '\u{1f3f3}\ufe0f\u200d\u{1f308}'],
  ['the flag of a country', '\u{1f1f3}\u{1f1f4}'],
  ['the flag of Scotland', '\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}'],
  ['a black flag', '\u{1f3f4}'],
  ['a keycap', '1\ufe0f\u20e3'],
  ['a red heart', '\u2764\ufe0f'],
  ['a Persian word', '\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645'],
  ['a Hindi conjunct', '\u0915\u094d\u200d\u0937'],
] as const;

describe('the text of a model', () => {
  it.each(KEPT)('keeps %s', (_name, text) => {
    expect(clean(`a ${text} b`)).toBe(`a ${text} b`);
  });

  it.each([
    ['a bidirectional override', 'safe\u202Etxt.exe', 'safetxt.exe'],
    ['zero-width characters', 'i\u200Bg\u2060n\uFEFFore', 'ignore'],
    ['joiners between Latin letters', 'ig\u200Cno\u200Dre', 'ignore'],
    ['runs of joiners', '\u{1f469}\u200d\u200c\u200d', '\u{1f469}\u200d'],
    ['tag characters', 'hi\u{E0068}\u{E0069}\u{E007F}', 'hi'],
    ['tag characters after a flag without an end', '\u{1f3f4}\u{E0068}\u{E0069}!', '\u{1f3f4}!'],
    ['runs of variation selectors', '\u2764\ufe0f\ufe0e\ufe01\u{e0100}', '\u2764\ufe0f'],
    ['controls', 'a\u0000\u001B[31mb\u0085', 'a[31mb'],
    ['half a surrogate pair', 'a\uD800b', 'a\uFFFDb'],
    ['half a surrogate pair at the end', 'a\uD83D', 'a\uFFFD'],
  ])('is stripped of %s', (_name, text, expected) => {
    expect(clean(text)).toBe(expected);
  });

  it('is the same wherever it is split', () => {
    const hostile = fc.constantFrom('\u200d', '\u202e', '\u{e0067}', '\u{1f3f4}', '\ufe0f', '\u{e007f}', 'a', '\ud83d');
    const piece = fc.oneof(fc.constantFrom(...KEPT.map(([, text]) => text)), hostile, fc.string({ maxLength: 4 }));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 8 }), fc.array(fc.nat(80), { maxLength: 6 }), (pieces, cuts) => {
        const text = pieces.join('');
        expect(clean(text, cuts)).toBe(clean(text));
      }),
    );
  });
});
