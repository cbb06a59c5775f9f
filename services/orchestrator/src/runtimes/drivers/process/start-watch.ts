import { progressOf } from './process-progress.js';

export interface StartWatchOptions {
  /** The start has failed after this many ms without progress. */
  patienceMs: number;
  /** Called once, with the reason for a log entry. */
  onStuck: (reason: string) => void;
}

const LOOK_MS = 250;
/** Processor time after which a start counts as endless, in multiples of `patienceMs`. A start needs about a second. */
const BUSY_TIMES = 8;
/** Maximum start duration, in multiples of `patienceMs`. */
const LONGEST_TIMES = 40;
/** The same for a process whose progress the system does not show. */
const UNSEEN_TIMES = 8;

/**
 * Watches a starting process. On a busy machine, killing a slow start would only cause another start, which makes the
 * machine busier. So a start only fails if the process does nothing, or works for far too long.
 *
 * @returns ends the watch
 */
export function watchStart(pid: number, { patienceMs, onStuck }: StartWatchOptions): () => void {
  const allowed = (times: number): number => Math.ceil((patienceMs * times) / LOOK_MS);
  let before = progressOf(pid);
  // Counts checks instead of time: while this process itself is held up, it observes no progress.
  let looks = 0;
  let quietLooks = 0;

  const look = (): string | undefined => {
    looks += 1;
    if (looks > allowed(LONGEST_TIMES)) return 'took too long';
    const now = progressOf(pid);
    if (now === undefined) return looks > allowed(UNSEEN_TIMES) ? 'took too long' : undefined;
    const hasMoved = before === undefined || now.processorMs > before.processorMs || now.calls > before.calls;
    quietLooks = hasMoved || now.isHeldUp ? 0 : quietLooks + 1;
    before = now;
    if (quietLooks > allowed(1)) return 'made no progress';
    return now.processorMs > patienceMs * BUSY_TIMES ? 'used too much processor time' : undefined;
  };
  const timer = setInterval(() => {
    const reason = look();
    if (reason === undefined) return;
    clearInterval(timer);
    onStuck(reason);
  }, LOOK_MS);
  return () => clearInterval(timer);
}
