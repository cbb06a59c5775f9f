import { describe, expect, it } from '@jest/globals';
import { sharesText } from './shared-text.js';

const shares = (query: string, text: string, ...named: string[]): boolean => sharesText(query, ['Other.', text], named);

describe('sharesText', () => {
  it.each([
    ['a number', 'pin 4711', 'The PIN is 4711.'],
    ['a number of a document in other letters', 'passport c4j7881', 'The number is C4J7881.'],
    ['three consecutive words', 'weather Garden Street Springfield', 'Lives in Garden Street, Springfield'],
    ['words with other separators', 'garden+street_springfield', 'Garden Street, Springfield'],
    ['an address of mail', 'site:x ada@example.com', 'Mail: ada@example.com'],
    ['words in compatibility letters', 'ｐｉｎ ４７１１', 'The PIN is 4711.'],
    [
      'a text in a script without spaces',
      '搜索我的护照号码是保密的因为我住在北京市朝阳',
      '我的护照号码是保密的因为我住在北京市朝阳区',
    ],
  ])('finds %s', (_what, query, text) => {
    expect(shares(query, text)).toBe(true);
  });

  it.each([
    ['single words', 'noodle shops in Berlin', 'The user lives in Berlin and likes noodle soup.'],
    ['short words in a row', 'what is the time', 'The user asks what is the date.'],
    ['a few characters of a script without spaces', '北京天气', '我住在北京'],
    ['a year', 'films of 2026', 'Moves in 2026.'],
    ['a short number', 'top 10 films', 'Has 10 cats.'],
    ['a part of a number', 'pin 4711', 'The PIN is 47112.'],
    ['an empty query', ' ', 'The PIN is 4711.'],
  ])('does not count %s', (_what, query, text) => {
    expect(shares(query, text)).toBe(false);
  });

  it('does not count what the user has written in the conversation', () => {
    const text = 'The user lives in Garden Street Springfield, the PIN is 4711.';
    expect(shares('plumber Garden Street Springfield', text, 'Search a plumber in Springfield, Garden Street!')).toBe(
      false,
    );
    expect(shares('plumber 4711', text, 'Search a plumber.')).toBe(true);
  });
});
