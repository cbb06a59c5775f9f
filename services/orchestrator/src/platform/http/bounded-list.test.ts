import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { fitting, jsonBytes, surelyFits } from './bounded-list.js';

describe('fitting', () => {
  const sizes = (items: readonly number[], most: number) => fitting(items, (size) => size, most);

  it.each([
    ['all items that fit', [1, 2, 3], 6, [1, 2, 3]],
    ['the items before the first one that does not fit', [1, 2, 3, 1], 5, [1, 2]],
    ['the first item of any size', [10, 1], 5, [10]],
    ['an empty list for an empty list', [], 5, []],
  ])('returns %s', (_what, items, most, expected) => {
    expect(sizes(items, most)).toEqual(expected);
  });

  it('surelyFits accepts a stored size that stays below the limit when every byte is escaped', () => {
    const most = Math.floor(LIMITS.listBytes / 6);
    expect(surelyFits(most)).toBe(true);
    expect(surelyFits(most + 1)).toBe(false);
    // The other fields' size includes the two quotes.
    expect(jsonBytes('\u0001'.repeat(most))).toBeLessThanOrEqual(LIMITS.listBytes + 2);
  });

  it('jsonBytes returns the size of the JSON text in bytes', () => {
    expect(jsonBytes('ä\n')).toBe(6);
  });
});
