import { expect, it } from '@jest/globals';
import { inParallel } from './in-parallel.js';

it('does not exceed the limit of concurrent jobs, and returns all results', async () => {
  let running = 0;
  let most = 0;
  const job = (value: number) => async () => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (value === 3) throw new Error('three');
    return value;
  };
  const results = await Promise.allSettled(inParallel([1, 2, 3, 4, 5].map(job), 2));
  expect(results.map((result) => (result.status === 'fulfilled' ? result.value : 'failed'))).toEqual([
    1,
    2,
    'failed',
    4,
    5,
  ]);
  expect(most).toBe(2);
});
