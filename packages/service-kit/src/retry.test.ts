import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { backoffDelay, retry, type RetryOptions } from './retry.js';

const quick: RetryOptions = { initialMs: 1, maxMs: 2, deadlineMs: 60_000 };

/** Fails the given number of times, then succeeds. */
function failing(times: number) {
  const calls = { count: 0 };
  const attempt = async (): Promise<string> => {
    calls.count += 1;
    if (calls.count <= times) throw new Error(`failure ${calls.count}`);
    return 'done';
  };
  return { calls, attempt };
}

describe('backoffDelay', () => {
  it('returns a delay between half of the step and the step, which doubles up to the limit', () => {
    const waits = fc.record({
      initialMs: fc.integer({ min: 1, max: 1_000 }),
      maxMs: fc.integer({ min: 1, max: 100_000 }),
    });
    const chance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(waits, fc.nat({ max: 5_000 }), chance, (backoff, attempt, random) => {
        const step = Math.min(backoff.maxMs, backoff.initialMs * 2 ** attempt);
        const delay = backoffDelay(backoff, attempt, () => random);
        expect(delay).toBeGreaterThanOrEqual(step / 2);
        expect(delay).toBeLessThanOrEqual(step);
      }),
    );
  });

  it('spreads concurrent retries over half of the step', () => {
    const backoff = { initialMs: 100, maxMs: 10_000 };
    expect([0, 0.5, 0.999].map((random) => backoffDelay(backoff, 3, () => random))).toEqual([400, 600, 799.6]);
  });
});

describe('retry', () => {
  it('retries until the attempt succeeds', async () => {
    const { attempt, calls } = failing(3);
    await expect(retry(attempt, quick)).resolves.toBe('done');
    expect(calls.count).toBe(4);
  });

  it('immediately throws an error that is not retryable', async () => {
    const { attempt, calls } = failing(3);
    const retryable = (error: unknown): boolean => (error as Error).message !== 'failure 2';
    await expect(retry(attempt, { ...quick, retryable })).rejects.toThrow('failure 2');
    expect(calls.count).toBe(2);
  });

  it('throws the last error if the next delay exceeds the deadline', async () => {
    const { attempt, calls } = failing(3);
    await expect(retry(attempt, { initialMs: 1_000, maxMs: 1_000, deadlineMs: 100 })).rejects.toThrow('failure 1');
    expect(calls.count).toBe(1);
  });

  it('stops waiting and retrying after an abort', async () => {
    const before = failing(3);
    await expect(retry(before.attempt, { ...quick, signal: AbortSignal.abort() })).rejects.toThrow('failure 1');
    expect(before.calls.count).toBe(1);

    const during = failing(3);
    const controller = new AbortController();
    const hour = 3_600_000;
    const waiting = retry(during.attempt, {
      initialMs: hour,
      maxMs: hour,
      deadlineMs: 2 * hour,
      signal: controller.signal,
    });
    controller.abort();
    await expect(waiting).rejects.toThrow();
    expect(during.calls.count).toBe(1);
  });

  it('waits for the delay that an error requests, and gives up if the deadline comes first', async () => {
    const { calls, attempt } = failing(1);
    const started = performance.now();
    await retry(attempt, { ...quick, waitAtLeastMs: () => 50 });
    expect(calls.count).toBe(2);
    expect(performance.now() - started).toBeGreaterThan(45);
    await expect(retry(failing(1).attempt, { ...quick, waitAtLeastMs: () => 90_000 })).rejects.toThrow('failure 1');
  });
});
