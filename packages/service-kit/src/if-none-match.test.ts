import { describe, expect, it } from '@jest/globals';
import { isCurrent } from './if-none-match.js';

describe('If-None-Match', () => {
  it.each(['"a"', 'W/"a"', ' "a" ', '"b", "a"', '"b","a"', 'W/"b",\t"a"', '"b,c", W/"a"', '*', ' * '])(
    'has the ETag of the file in %j',
    (header) => {
      expect(isCurrent('"a"', header)).toBe(true);
      expect(isCurrent('W/"a"', header)).toBe(true);
    },
  );

  it.each([undefined, '', 'a', '"b"', '"A"', '"ab"', '"a', 'W/"b", "c"', '"x*"', '"b, a"'])(
    'does not have the ETag of the file in %j',
    (header) => {
      expect(isCurrent('"a"', header)).toBe(false);
    },
  );
});
