import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createCountingCompare } from '../../test/counting-compare.js';
import { createStartQueue } from './start-queue.js';

const key = fc.constantFrom(...'abcdefgh');
const step = fc.oneof(
  fc.record({ what: fc.constant('put' as const), key, place: fc.nat({ max: 50 }) }),
  fc.record({ what: fc.constant('remove' as const), key }),
  fc.record({ what: fc.constant('take' as const) }),
);

describe('the start queue', () => {
  it('hands out keys like a sorted list, for any sequence of operations', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (script) => {
        const line = createStartQueue();
        const model = new Map<string, string>();
        const firstOf = (): string | undefined =>
          [...model].toSorted(([, left], [, right]) => (left < right ? -1 : 1)).at(0)?.[0];
        const seen: unknown[] = [];
        const expected: unknown[] = [];
        for (const one of script) {
          if (one.what === 'put') {
            const place = `${String(one.place).padStart(2, '0')} ${one.key}`;
            line.put(one.key, place);
            model.set(one.key, place);
          } else if (one.what === 'remove') {
            seen.push(line.remove(one.key));
            expected.push(model.delete(one.key));
          } else {
            const first = firstOf();
            seen.push(line.takeFirst());
            expected.push(first);
            model.delete(first ?? '');
          }
          seen.push(line.size);
          expected.push(model.size);
        }
        expect(seen).toEqual(expected);
        while (model.size > 0) {
          const first = firstOf();
          expect(line.takeFirst()).toBe(first);
          model.delete(first ?? '');
        }
        expect(line.takeFirst()).toBeUndefined();
      }),
    );
  });

  it('compares a logarithmic number of places per operation with 20,000 keys', () => {
    const { compare, mostComparisons } = createCountingCompare();
    const line = createStartQueue(compare);
    const count = 20_000;
    // A deterministic permutation: 7,919 is coprime to the count.
    const places = Array.from({ length: count }, (_, at) => String((at * 7_919) % count).padStart(5, '0'));
    const put = places.map((place) => () => line.put(place, place));
    const bound = 2 * Math.ceil(Math.log2(count)) + 1;
    expect(mostComparisons(put)).toBeLessThanOrEqual(bound);
    expect(mostComparisons(put)).toBe(0);
    expect(mostComparisons(places.slice(0, 100).map((place) => () => void line.remove(place)))).toBeLessThanOrEqual(
      bound,
    );
    expect(mostComparisons(places.slice(100).map(() => () => void line.takeFirst()))).toBeLessThanOrEqual(bound);
    expect(line.size).toBe(0);
  });
});
