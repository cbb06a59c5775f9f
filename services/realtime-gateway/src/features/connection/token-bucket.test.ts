import { describe, expect, it } from '@jest/globals';
import { createTokenBucket } from './token-bucket.js';

describe('the token bucket', () => {
  it('allows the burst and then the sustained rate', () => {
    let time = 0;
    const take = createTokenBucket({ perSecond: 20, burst: 3 }, () => time);
    expect(Array.from({ length: 4 }, () => take())).toEqual([0, 0, 0, 50]);
    time = 50;
    expect(take()).toBe(0);
    time = 100_000;
    expect(Array.from({ length: 4 }, () => take())).toEqual([0, 0, 0, 50]);
  });

  it('returns retry times at which each refused caller succeeds', () => {
    let time = 0;
    const take = createTokenBucket({ perSecond: 20, burst: 1 }, () => time);
    const waits = Array.from({ length: 5 }, () => take());
    expect(waits).toEqual([0, 50, 100, 150, 200]);
    const retries = waits.slice(1).map((wait) => {
      time = wait;
      return take();
    });
    expect(retries).toEqual([0, 0, 0, 0]);
  });

  it('never returns more than 30 s, and not the times of a flood that has ended', () => {
    let time = 0;
    const take = createTokenBucket({ perSecond: 1, burst: 2 }, () => time);
    expect(Math.max(...Array.from({ length: 1_000 }, () => take()))).toBe(30_000);
    time = 1_000;
    expect(take()).toBe(0);
    time = 2_000_000;
    expect(Array.from({ length: 3 }, () => take())).toEqual([0, 0, 1_000]);
  });

  it('takes the cost of a call', () => {
    const take = createTokenBucket({ perSecond: 10, burst: 25 }, () => 0);
    expect([take(10), take(10), take(10)]).toEqual([0, 0, 500]);
  });

  it('allows everything at a rate of 0 per second', () => {
    const take = createTokenBucket({ perSecond: 0, burst: 0 }, () => 0);
    expect([take(), take(), take()]).toEqual([0, 0, 0]);
  });
});
