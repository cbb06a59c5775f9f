import type { Failure } from './failures.js';

export interface RetryLimits {
  /** Milliseconds of all waits together, without long ones. */
  maxWaitMs: number;
  /** Milliseconds of all long waits together. A wait is long if it exceeds `longestMs`. 0: long waits count as others. */
  maxLongWaitMs: number;
  /** Attempts after failures for which the provider did not ask to wait. */
  maxAttempts: number;
  /** Milliseconds of the first wait; it doubles with each attempt. */
  initialMs: number;
  /** Longest wait in milliseconds that the provider did not ask for. */
  longestMs: number;
}

export const DEFAULT_RETRIES: RetryLimits = {
  maxWaitMs: 120_000,
  maxLongWaitMs: 0,
  maxAttempts: 6,
  initialMs: 500,
  longestMs: 20_000,
};

/** Decides whether a failed model call is repeated. Equal jitter: at least half of each wait. */
export interface RetryPolicy {
  /** @returns milliseconds to wait before the next attempt; undefined if there is none */
  next(failure: Failure): number | undefined;
}

export function createRetryPolicy(limits: RetryLimits, random: () => number = Math.random): RetryPolicy {
  let attempts = 0;
  let waited = 0;
  let waitedLong = 0;
  return {
    next({ error, transient, limited }) {
      if (!transient) return undefined;
      attempts += 1;
      if (!limited && error.retryAfterMs === undefined && attempts >= limits.maxAttempts) return undefined;
      const backoff = Math.min(limits.longestMs, limits.initialMs * 2 ** (attempts - 1));
      // A provider can ask for no wait at all, such as with a date in the past, and be limited again.
      const wait = Math.max(error.retryAfterMs ?? (backoff / 2) * (1 + random()), backoff / 2);
      if (limits.maxLongWaitMs > 0 && wait > limits.longestMs) {
        waitedLong += wait;
        return waitedLong > limits.maxLongWaitMs ? undefined : wait;
      }
      waited += wait;
      return waited > limits.maxWaitMs ? undefined : wait;
    },
  };
}
