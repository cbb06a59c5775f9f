import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { createLimiter } from './limiter.js';

const policy = { name: 'user', burst: 3, windowS: 2 } as const;

describe('a limiter without Redis', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it('accepts the burst, and then nothing until the window ends', async () => {
    const limiter = createLimiter(policy);
    const seen = [];
    for (let n = 0; n < 4; n += 1) seen.push(await limiter('ada'));
    expect(seen.map(({ allowed, remaining }) => [allowed, remaining])).toEqual([
      [true, 2],
      [true, 1],
      [true, 0],
      [false, 0],
    ]);
    jest.advanceTimersByTime(1_500);
    expect(await limiter('ada')).toMatchObject({ allowed: false, resetMs: 500 });
    jest.advanceTimersByTime(500);
    expect(await limiter('ada')).toMatchObject({ allowed: true, remaining: 2 });
  });

  it('counts keys separately', async () => {
    const limiter = createLimiter(policy);
    for (let n = 0; n < 4; n += 1) await limiter('ada');
    expect(await limiter('ben')).toMatchObject({ allowed: true, remaining: 2 });
  });
});
