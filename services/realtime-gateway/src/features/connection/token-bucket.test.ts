import { describe, expect, it } from '@jest/globals';
import { createTokenBucket } from './token-bucket.js';

describe('a token bucket', () => {
  it('allows the burst, and then as many as become due', () => {
    let time = 0;
    const take = createTokenBucket({ perSecond: 20, burst: 3 }, () => time);
    expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 50]);
    time = 20;
    expect(take()).toBe(30);
    time = 50;
    expect(take()).toBe(0);
    time = 100_000;
    expect([take(), take(), take(), take()]).toEqual([0, 0, 0, 50]);
  });

  it('is off at no token a second', () => {
    const take = createTokenBucket({ perSecond: 0, burst: 0 }, () => 0);
    expect([take(), take(), take()]).toEqual([0, 0, 0]);
  });
});
