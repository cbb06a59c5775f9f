/** A passage has this many consecutive words, and this many letters and digits in them. */
const PASSAGE_WORDS = 3;
const PASSAGE_LENGTH = 12;
/** Letters and digits in a word with a digit that can identify something, such as a passport number. */
const IDENTIFIER_LENGTH = 4;
const YEAR = /^(?:19|20)\d\d$/;

/** Scripts that put no spaces between words: each character counts as a word, and as two letters. */
const UNSPACED = String.raw`[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]`;
const WORD = new RegExp(String.raw`${UNSPACED}|(?:(?!${UNSPACED})[\p{L}\p{M}\p{N}])+`, 'gu');
const UNSPACED_WORD = new RegExp(`^${UNSPACED}$`, 'u');

const wordsOf = (text: string): string[] => text.normalize('NFKC').toLowerCase().match(WORD) ?? [];

const isIdentifier = (word: string): boolean =>
  word.length >= IDENTIFIER_LENGTH && /\p{N}/u.test(word) && !YEAR.test(word);

const lengthOf = (word: string): number => (UNSPACED_WORD.test(word) ? 2 : word.length);

function firstPassage(words: readonly string[]): string[] | undefined {
  let length = 0;
  for (const [index, word] of words.entries()) {
    length += lengthOf(word);
    if (index + 1 >= PASSAGE_WORDS && length >= PASSAGE_LENGTH) return words.slice(0, index + 1);
  }
  return undefined;
}

/** Consecutive words that are long enough together, and words with a digit. */
const passagesOf = (words: readonly string[]): string[][] => [
  ...words.map((_, index) => firstPassage(words.slice(index))).filter((found) => found !== undefined),
  ...words.filter(isIdentifier).map((word) => [word]),
];

/**
 * True if a query has a passage from a private text that the user has not written. Case, spaces and punctuation do not
 * count. Pure.
 *
 * @param named user messages: a passage whose words are all in them is not private
 */
export function sharesText(query: string, privateTexts: readonly string[], named: readonly string[]): boolean {
  const known = new Set(named.flatMap(wordsOf));
  const passages = passagesOf(wordsOf(query)).filter((words) => !words.every((word) => known.has(word)));
  if (passages.length === 0) return false;
  const wanted = passages.map((words) => ` ${words.join(' ')} `);
  return privateTexts.some((text) => {
    const words = ` ${wordsOf(text).join(' ')} `;
    return wanted.some((passage) => words.includes(passage));
  });
}
