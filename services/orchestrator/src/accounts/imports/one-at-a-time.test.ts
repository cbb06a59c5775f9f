import { expect, it } from '@jest/globals';
import type { LeasedJob } from '../../platform/jobs/job-queue.js';
import { oneAtATime } from './one-at-a-time.js';

it('a process has one import at a time, and the next one also after one that failed', async () => {
  const first = Promise.withResolvers<{ done: true }>();
  const results = [first.promise, Promise.resolve({ done: true as const })];
  const handle = oneAtATime(() => results.shift()!);
  const run = () => handle({} as LeasedJob, new AbortController().signal);
  const running = run();
  expect(await run()).toEqual({ againInMs: expect.any(Number) });
  first.reject(new Error('failed'));
  await expect(running).rejects.toThrow('failed');
  expect(await run()).toEqual({ done: true });
});
