import { describe, expect, it } from '@jest/globals';
import { fitting, jsonBytes } from './bounded-list.js';

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

  it('is counted as bytes of JSON', () => {
    expect(jsonBytes('ä\n')).toBe(6);
  });
});
