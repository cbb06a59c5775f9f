import { createHash } from 'node:crypto';

/** Tolerance in milliseconds for timers that fire early relative to the clock. */
const EARLY_MS = 500;

/**
 * Milliseconds until the object's next resync. Each object has a fixed offset in the period, derived from its uid, so
 * that resyncs are spread evenly, also after a restart. A timer that fires early does not make it due twice.
 */
export function untilResync(uid: string, nowMs: number, periodMs: number): number {
  const slot = createHash('sha256').update(uid).digest().readUInt32BE(0) % periodMs;
  const passed = (nowMs - slot) % periodMs;
  const left = periodMs - (passed < 0 ? passed + periodMs : passed);
  return left < Math.min(EARLY_MS, periodMs / 10) ? left + periodMs : left;
}
