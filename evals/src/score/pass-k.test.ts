import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { passHatK } from './pass-k.js';

/** All ways to choose `k` items. */
function choices<Item>(items: readonly Item[], k: number): Item[][] {
  if (k === 0) return [[]];
  return items.flatMap((item, index) => choices(items.slice(index + 1), k - 1).map((rest) => [item, ...rest]));
}

describe('pass^k', () => {
  it('is the share of all choices of k trials that have only passed ones', () => {
    fc.assert(
      fc.property(
        fc.array(fc.boolean(), { minLength: 1, maxLength: 9 }),
        fc.integer({ min: 1, max: 5 }),
        (trials, k) => {
          const all = choices(trials, k);
          const share = all.filter((chosen) => chosen.every(Boolean)).length / all.length;
          const found = passHatK(trials.length, trials.filter(Boolean).length, k);
          expect({ isKnown: found !== undefined, found: found ?? 0 }).toEqual({
            isKnown: all.length > 0,
            found: expect.closeTo(Number.isNaN(share) ? 0 : share),
          });
        },
      ),
    );
  });

  it.each([
    [4, 4, 4, 1],
    [4, 3, 1, 0.75],
    [4, 3, 4, 0],
    [8, 6, 4, 15 / 70],
  ])('is computed from the number of trials: %i trials, %i passed, k = %i: %d', (trials, passed, k, expected) => {
    expect(passHatK(trials, passed, k)).toBeCloseTo(expected);
  });
});
