import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { plainQuery } from './plain-query.js';

/**
 * Words that could be commands. Wider than `RawTextQuery`, because engines, languages and redirects depend on the
 * installation.
 */
function couldBeCommand(word: string): boolean {
  return word.startsWith('!!') || /^!./u.test(word) || /^:\p{L}/u.test(word) || /^<\p{N}+$/u.test(word);
}

/** White space in Python, by which SearXNG splits a query. */
const pythonSpace = /[\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u;

const commandish = fc
  .array(
    fc.constantFrom(
      '!',
      '!!',
      ':',
      '<',
      'g',
      'de',
      'en-US',
      '3',
      '850',
      '²',
      '٣',
      ' ',
      '\t',
      '\u001c',
      '\u0085',
      '\u3000',
      '\u200b',
      '\ufeff',
      '中文',
      '"',
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));
const anyQuery = fc.oneof(commandish, fc.string({ unit: 'binary', maxLength: 60 }));

describe('plainQuery', () => {
  it.each([
    ['!images cats', 'images cats'],
    ['!!g cats', 'g cats'],
    ['cats !!', 'cats'],
    ['cats :de', 'cats de'],
    [':deutsch katzen', 'deutsch katzen'],
    [':中文 猫', '中文 猫'],
    ['cats <3', 'cats < 3'],
    ['<850 cats', '< 850 cats'],
    ['<² cats', '< ² cats'],
    ['!:de !<3 !!!g', 'de < 3 g'],
    ['\u200b!g cats', 'g cats'],
    ['cats\u001c!g', 'cats g'],
  ])('takes the command out of %j', (query, plain) => {
    expect(plainQuery(query)).toBe(plain);
  });

  it.each([
    'what is 3 < 4',
    'a ! b',
    'hello!',
    'C++ a<b> :) ::before',
    'std::vector x!=y',
    '"exact phrase" -not site:example.com',
    'می‌خواهم',
  ])('leaves %j alone', (query) => {
    expect(plainQuery(query)).toBe(query);
  });

  it('returns no word that SearXNG could read as a command', () => {
    fc.assert(
      fc.property(anyQuery, (query) => {
        expect(plainQuery(query).split(pythonSpace).filter(couldBeCommand)).toEqual([]);
      }),
      { numRuns: 2_000 },
    );
  });

  it('keeps the order of words without a command prefix', () => {
    const word = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 8 })
      .filter((text) => /^[^!:<]/u.test(text) && !/[\s\p{C}\p{Default_Ignorable_Code_Point}]/u.test(text));
    fc.assert(
      fc.property(fc.array(word, { minLength: 1 }), (words) => {
        expect(plainQuery(words.join(' '))).toBe(words.join(' '));
      }),
    );
  });

  it('is idempotent', () => {
    fc.assert(fc.property(anyQuery, (query) => expect(plainQuery(plainQuery(query))).toBe(plainQuery(query))));
  });
});
