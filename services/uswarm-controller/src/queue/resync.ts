import { createHash } from 'node:crypto';

/**
 * Milliseconds until the next resync of the object: each has its own moment in the period, given by
 * its uid, so that they never come all at once, also not after a restart.
 *
 * spec: supporting §4.2, §8
 */
export function untilResync(uid: string, nowMs: number, periodMs: number): number {
  const slot = createHash('sha256').update(uid).digest().readUInt32BE(0) % periodMs;
  const passed = (nowMs - slot) % periodMs;
  return periodMs - (passed < 0 ? passed + periodMs : passed);
}
