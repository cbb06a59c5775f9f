import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import { fitting, jsonBytes, surelyFits } from './bounded-list.js';

describe('what fits into one response', () => {
  const sizes = (items: readonly number[], most: number) => fitting(items, (size) => size, most);

  it.each([
    ['everything, when it is little', [1, 2, 3], 6, [1, 2, 3]],
    ['what comes before the first item that does not fit', [1, 2, 3, 1], 5, [1, 2]],
    ['the first item, however large it is', [10, 1], 5, [10]],
    ['nothing of nothing', [], 5, []],
  ])('is %s', (_what, items, most, expected) => {
    expect(sizes(items, most)).toEqual(expected);
  });

  it('is known from the stored size if even escaped text stays below the limit', () => {
    const most = Math.floor(LIMITS.listBytes / 6);
    expect(surelyFits(most)).toBe(true);
    expect(surelyFits(most + 1)).toBe(false);
    // The two quotes are part of the size of the other fields.
    expect(jsonBytes('\u0001'.repeat(most))).toBeLessThanOrEqual(LIMITS.listBytes + 2);
  });

  it('is counted as bytes of JSON', () => {
    expect(jsonBytes('ä\n')).toBe(6);
  });
});
