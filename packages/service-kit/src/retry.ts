import { setTimeout as sleep } from 'node:timers/promises';

export interface Backoff {
  /** Milliseconds before the second attempt. */
  initialMs: number;
  /** Maximum delay in milliseconds. */
  maxMs: number;
}

/**
 * Exponential back-off with equal jitter: a random delay between half a step and a whole step, so that replicas that
 * failed together do not retry together.
 *
 * @returns milliseconds
 */
export function backoffDelay({ initialMs, maxMs }: Backoff, attempt: number, random = Math.random): number {
  const step = Math.min(maxMs, initialMs * 2 ** Math.min(attempt, 30));
  return step / 2 + (step / 2) * random();
}

export interface RetryOptions extends Backoff {
  signal?: AbortSignal;
  /** Milliseconds after which the last error is thrown. */
  deadlineMs: number;
  retryable?: (error: unknown) => boolean;
  /** Minimum delay in milliseconds that an error requests before the next attempt. */
  waitAtLeastMs?: (error: unknown) => number;
}

/** Runs `attempt` until it succeeds, fails with an error that is not retryable, or the deadline passes. */
export async function retry<T>(attempt: () => Promise<T>, options: RetryOptions): Promise<T> {
  const deadline = performance.now() + options.deadlineMs;
  for (let tries = 0; ; tries += 1) {
    try {
      return await attempt();
    } catch (error) {
      const delay = Math.max(backoffDelay(options, tries), options.waitAtLeastMs?.(error) ?? 0);
      const final = options.retryable !== undefined && !options.retryable(error);
      if (final || options.signal?.aborted === true || performance.now() + delay > deadline) throw error;
      await sleep(delay, undefined, options.signal === undefined ? {} : { signal: options.signal });
    }
  }
}
