import { expect, it } from '@jest/globals';
import { byTier, shareByTier } from './tier.js';

it('byTier selects the larger value only if all tests run', () => {
  const cases = { core: 1, all: 8 };
  expect(byTier(cases, {})).toBe(1);
  expect(byTier(cases, { USWARM_ALL_TESTS: '1' })).toBe(8);
});

it('shareByTier divides the cases among the blocks, unless all tests run', () => {
  const cases = ['a', 'b', 'c'];
  expect([0, 1, 2].map((block) => shareByTier(cases, block, 2, {}))).toEqual([['a', 'c'], ['b'], ['a', 'c']]);
  expect(shareByTier(cases, 1, 2, { USWARM_ALL_TESTS: '1' })).toEqual(cases);
});
