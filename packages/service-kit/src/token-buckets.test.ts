import { describe, expect, it } from '@jest/globals';
import { createTokenBuckets } from './token-buckets.js';

/** Each bucket gets six tokens per minute, one every ten seconds. */
function setUp() {
  const clock = { ms: 0 };
  return { clock, buckets: createTokenBuckets(6, () => clock.ms) };
}

describe('token buckets', () => {
  it('allow a burst, then one call per interval, and say how long to wait', () => {
    const { buckets, clock } = setUp();
    expect(Array.from({ length: 7 }, () => buckets.take('a'))).toEqual([0, 0, 0, 0, 0, 0, 10_000]);
    clock.ms = 7_500;
    expect(buckets.take('a')).toBeCloseTo(2_500);
    clock.ms = 10_000;
    expect(buckets.take('a')).toBe(0);
  });

  it('are independent of each other', () => {
    const { buckets } = setUp();
    for (let n = 0; n < 6; n += 1) buckets.take('a');
    expect(buckets.take('a')).toBeGreaterThan(0);
    expect(buckets.take('b')).toBe(0);
  });

  it('stay exhausted while many other keys come and go', () => {
    const { buckets, clock } = setUp();
    for (let n = 0; n < 6; n += 1) buckets.take('a');
    for (let n = 0; n < 20_000; n += 1) buckets.take(`other ${n}`);
    expect(buckets.take('a')).toBe(10_000);
    clock.ms = 60_000;
    buckets.take('one more');
    expect(buckets.take('a')).toBe(0);
  });
});
