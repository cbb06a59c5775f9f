import type { HistoryRow } from './history.store.js';
import type { WholeMessages } from '../summaries/summaries.store.js';

/** The newest messages, which are always sent whole. */
export const WHOLE: WholeMessages = { count: 60, bytes: 48 * 1024 };
/** A summary is written when at least this many messages exceed the whole ones. */
export const GROWTH = 20;

export function needsSummary(newestFirst: readonly HistoryRow[]): boolean {
  let bytes = 0;
  const whole = newestFirst.findIndex(({ text }, index) => {
    bytes += Buffer.byteLength(text);
    return index >= WHOLE.count || (bytes > WHOLE.bytes && index > 0);
  });
  return whole !== -1 && newestFirst.length - whole >= GROWTH;
}
