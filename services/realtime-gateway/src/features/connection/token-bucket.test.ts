import { describe, expect, it } from '@jest/globals';
import { createTokenBucket } from './token-bucket.js';

describe('the token bucket', () => {
  it('allows the burst and then the sustained rate', () => {
    let time = 0;
    const take = createTokenBucket({ perSecond: 20, burst: 3 }, () => time);
    expect(Array.from({ length: 4 }, take)).toEqual([0, 0, 0, 50]);
    time = 20;
    expect(take()).toBe(30);
    time = 50;
    expect(take()).toBe(0);
    time = 100_000;
    expect(Array.from({ length: 4 }, take)).toEqual([0, 0, 0, 50]);
  });

  it('allows everything at a rate of 0 per second', () => {
    const take = createTokenBucket({ perSecond: 0, burst: 0 }, () => 0);
    expect(Array.from({ length: 3 }, take)).toEqual([0, 0, 0]);
  });
});
