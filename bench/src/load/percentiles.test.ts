import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { latencyOf, median, percentile } from './percentiles.js';

const numbers = fc.array(fc.double({ min: 0, max: 1e6, noNaN: true }), { minLength: 1, maxLength: 300 });
const ascending = (values: readonly number[]) => values.toSorted((a, b) => a - b);

describe('percentiles', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

  it.each([
    [50, 50],
    [95, 95],
    [99, 99],
    [99.5, 100],
    [100, 100],
    [0, 1],
  ])('%d %% of one to a hundred do not exceed %d', (percent, expected) => {
    expect(percentile(hundred, percent)).toBe(expected);
  });

  it('use the maximum as p99 of few samples', () => {
    expect(percentile([1, 2, 3], 99)).toBe(3);
    expect(percentile([7], 50)).toBe(7);
  });

  it('are NaN without samples', () => {
    expect(percentile([], 50)).toBeNaN();
    expect(median([])).toBeNaN();
  });

  it('return the smallest sample that the given share does not exceed', () => {
    fc.assert(
      fc.property(numbers, fc.integer({ min: 1, max: 100 }), (values, percent) => {
        const found = percentile(ascending(values), percent);
        const upTo = (limit: number) => values.filter((value) => value <= limit).length / values.length;
        expect(upTo(found)).toBeGreaterThanOrEqual(percent / 100 - 1e-9);
        const smaller = Math.max(-1, ...values.filter((value) => value < found));
        expect(upTo(smaller)).toBeLessThan(percent / 100 + 1e-9);
      }),
    );
  });

  it('do not depend on the order of the samples', () => {
    expect(latencyOf([300, 9, 100])).toEqual({ p50: 100, p95: 300, p99: 300, max: 300 });
    expect(latencyOf(hundred.toReversed())).toEqual({ p50: 50, p95: 95, p99: 99, max: 100 });
  });

  it.each([
    [[5], 5],
    [[10, 1, 100], 10],
    [[4, 1, 2, 100], 3],
  ])('the median of %j is %d', (values, expected) => {
    expect(median(values)).toBe(expected);
  });
});
