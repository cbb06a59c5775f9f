import type { MessageData } from '@uswarm/client';
import { durationText } from '../screen/duration-text.js';

/** Milliseconds: the time of a running call is shown only when it is longer, so that short ones do not flicker. */
const LONG_MS = 10_000;

interface Call {
  state: string;
  message: Pick<MessageData, 'created_at' | 'updated_at'> | null;
}
/** From the begin of the first call to the end of the last one, or to `now` while one runs; empty if it is not worth showing. */
export function durationOf(calls: readonly Call[], now: number): string {
  const times = calls.flatMap(({ message }) => message ?? []);
  if (times.length === 0) return '';
  const isRunning = calls.some(({ state }) => state === 'running');
  const begin = Math.min(...times.map(({ created_at: at }) => Date.parse(at)));
  const end = isRunning ? now : Math.max(...times.map(({ updated_at: at }) => Date.parse(at)));
  if (isRunning && end - begin < LONG_MS) return '';
  return durationText(end - begin);
}
