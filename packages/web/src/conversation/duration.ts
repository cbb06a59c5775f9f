import type { MessageData } from '@uswarm/client';
import { durationText } from '../screen/duration-text.js';

/** A running call shows its duration only after this many ms, so that short calls do not flicker. */
const LONG_MS = 10_000;

interface Call {
  state: string;
  message: Pick<MessageData, 'created_at' | 'updated_at'> | null;
}
/** Lasts from the first call to the last result, or to `now` while a call runs. @returns empty if too short to show */
export function durationOf(calls: readonly Call[], now: number): string {
  const times = calls.flatMap(({ message }) => message ?? []);
  if (times.length === 0) return '';
  const isRunning = calls.some(({ state }) => state === 'running');
  const begin = Math.min(...times.map(({ created_at: at }) => Date.parse(at)));
  const end = isRunning ? now : Math.max(...times.map(({ updated_at: at }) => Date.parse(at)));
  if (isRunning && end - begin < LONG_MS) return '';
  return durationText(end - begin);
}
