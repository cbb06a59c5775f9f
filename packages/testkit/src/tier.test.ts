import { expect, it } from '@jest/globals';
import { byTier } from './tier.js';

it('byTier selects the larger value only if all tests run', () => {
  const cases = { core: 1, all: 8 };
  expect(byTier(cases, {})).toBe(1);
  expect(byTier(cases, { USWARM_ALL_TESTS: '1' })).toBe(8);
});
