import fc from 'fast-check';
import { describe, expect, it } from '@jest/globals';
import { blocksOf, isParsable, visibleText } from './visible-text.js';

describe('visibleText', () => {
  it.each([
    ['a zero-width space', 'pay\u200bpal', 'pay␣pal'],
    ['a character that reverses text', 'a\u202egpj.exe', 'a␣gpj.exe'],
    ['letters without a shape', 'a\u3164b\u115fc', 'a␣b␣c'],
    ['bytes in variation selectors', 'hi\u{e0158}\u{e01ef}', 'hi␣␣'],
    ['hidden tags', `hi\u{e0068}\u{e0069}`, 'hi␣␣'],
  ])('shows %s', (_, hidden, expected) => {
    expect(visibleText(hidden)).toBe(expected);
  });

  it('changes neither emoji nor scripts that join letters', () => {
    for (const text of ['👩‍💻 ❤️', 'می‌خواهم', 'שלום\u200f!', 'tabs\tand\nlines']) expect(visibleText(text)).toBe(text);
  });
});

describe('isParsable', () => {
  it.each([
    ['quotes in each other', '>'.repeat(40)],
    ['lists in each other', '1) - '.repeat(20)],
    ['lists in each other by their indentation', `- a\n${' '.repeat(80)}- b`],
    ['emphasis in emphasis', '*_'.repeat(1_251)],
    ['headings that all could begin a paragraph', 'a\n=\n'.repeat(101)],
    ['a table whose short rows are filled up', `${'|a'.repeat(100)}|\n${'|-'.repeat(100)}|\n${'|\n'.repeat(100)}`],
  ])('is false for %s', (_, block) => {
    expect(isParsable(block)).toBe(false);
  });

  it.each([
    ['rules', `${'-'.repeat(100)}\n`.repeat(50)],
    ['a long table', `| a | b |\n| - | - |\n${'| 1 | 2 |\n'.repeat(2_000)}`],
    ['lists in each other', Array.from({ length: 12 }, (_, depth) => `${'  '.repeat(depth)}- a`).join('\n')],
    ['a fence with very many lines', `\`\`\`\n${'a\n'.repeat(300_000)}\`\`\``],
    ['a long text', '**Much** text, _also_ in `code_with_words`.\n'.repeat(300)],
  ])('is true for %s', (_, block) => {
    expect(isParsable(block)).toBe(true);
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
