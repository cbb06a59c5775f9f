import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { blocksOf, visibleText } from './visible-text.js';

describe('visibleText', () => {
  it.each([
    ['a zero-width space', 'pay\u200bpal', 'pay␣pal'],
    ['a character that reverses text', 'a\u202egpj.exe', 'a␣gpj.exe'],
    ['hidden tags', `hi\u{e0068}\u{e0069}`, 'hi␣␣'],
  ])('shows %s', (_, hidden, expected) => {
    expect(visibleText(hidden)).toBe(expected);
  });

  it('changes neither emoji nor scripts that join letters', () => {
    for (const text of ['👩‍💻 ❤️', 'می‌خواهم', 'שלום\u200f!', 'tabs\tand\nlines']) expect(visibleText(text)).toBe(text);
  });
});

describe('blocksOf', () => {
  it('splits at blank lines, but not inside a fence or a list', () => {
    const code = '```js\na\n\nb\n```\n';
    const list = '- one\n\n- two\n';
    expect(blocksOf(`# Title\n\nText\n\n${code}\n${list}`)).toEqual(['# Title\n', 'Text\n', code, `${list}\n`]);
  });

  it('keeps the blocks before the last one while text is added', () => {
    const words = fc.array(fc.constantFrom('a', '\n', '\n\n', '- ', '```', '# ', '| x |'), { maxLength: 40 });
    fc.assert(
      fc.property(words, fc.string(), (pieces, more) => {
        const before = blocksOf(`${pieces.join('')}\n`);
        const after = blocksOf(`${pieces.join('')}\n${more}`);
        expect(after.slice(0, Math.max(0, before.length - 1))).toEqual(before.slice(0, -1));
      }),
    );
  });
});
