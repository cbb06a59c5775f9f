import { createHash } from 'node:crypto';

/** Milliseconds by which a timer may come too early for the clock, of a process that has much to do. */
const EARLY_MS = 500;

/**
 * Milliseconds until the next resync of the object: each has its own moment in the period, given by
 * its uid, so that they never come all at once, also not after a restart. Who has just been synced,
 * for a timer came a little early, is not due again at once.
 *
 * spec: supporting §4.2, §8
 */
export function untilResync(uid: string, nowMs: number, periodMs: number): number {
  const slot = createHash('sha256').update(uid).digest().readUInt32BE(0) % periodMs;
  const passed = (nowMs - slot) % periodMs;
  const left = periodMs - (passed < 0 ? passed + periodMs : passed);
  return left < Math.min(EARLY_MS, periodMs / 10) ? left + periodMs : left;
}
