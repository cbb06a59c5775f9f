import type { DisabledReason } from '../../records/webhooks.store.js';

/** Minutes after each failed attempt; the last one repeats. */
const WAITS_MIN = [0.1, 0.5, 2, 10, 30, 60, 120, 240, 360] as const;
const MINUTE_MS = 60_000;
/** A webhook is disabled when an event has failed for this long. */
const GIVE_UP_MS = 3 * 24 * 60 * MINUTE_MS;
/** Longest wait that a receiver can ask for. */
const LONGEST_ASKED_MS = 12 * 60 * MINUTE_MS;
/** Each wait varies by up to this share, so that webhooks that failed together are not tried together. */
const JITTER = 0.2;
const GONE = 410;

export interface FailedAttempt {
  /** HTTP status of the response; null without one. */
  status: number | null;
  /** Attempts before this one. */
  attempts: number;
  /** Milliseconds since the first failed attempt, without an attempt that succeeded. */
  failingMs: number;
  /** The wait that the response asked for. */
  retryAfterMs?: number | undefined;
}

/** Pure, but for the jitter. */
export function nextAttempt(
  { status, attempts, failingMs, retryAfterMs = 0 }: FailedAttempt,
  random: () => number = Math.random,
): { retryInMs: number } | { disable: DisabledReason } {
  if (status === GONE) return { disable: 'gone' };
  if (failingMs >= GIVE_UP_MS) return { disable: 'failing' };
  const minutes = WAITS_MIN[Math.min(attempts, WAITS_MIN.length - 1)] ?? 0;
  const waitMs = minutes * MINUTE_MS * (1 + JITTER * random());
  // The last attempt is not later than the end.
  return { retryInMs: Math.min(Math.max(waitMs, Math.min(retryAfterMs, LONGEST_ASKED_MS)), GIVE_UP_MS - failingMs) };
}
