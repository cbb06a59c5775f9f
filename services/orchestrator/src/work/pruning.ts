import type { Clock, Logger } from '@uswarm/service-kit';
import type { WorkResult } from './work-queue.js';
import type { LeasedWork } from './work.store.js';

const NOBODY = '00000000-0000-0000-0000-000000000000';
const HOUR_MS = 3_600_000;
const AT_ONCE = 5_000;

export interface PruningDeps {
  /** Removes up to `limit` rows from before a time. @returns how many it removed */
  prune: (before: Date, limit: number) => Promise<number>;
  /** Milliseconds that a row is kept. */
  keepMs: number;
  /** What the log says once rows were removed. */
  removed: string;
  clock: Clock;
  logger: Logger;
}

/** The one row of such work: of no workspace, due at every start. */
export const pruningRow = (kind: string) => ({ kind, subjectId: NOBODY, workspaceId: NOBODY });

/** Handles the row: removes what is too old, in small transactions, once an hour. */
export function createPruning({ prune, keepMs, removed: message, clock, logger }: PruningDeps) {
  return async (_work: LeasedWork, signal: AbortSignal): Promise<WorkResult> => {
    const before = new Date(clock.now().getTime() - keepMs);
    let removed = 0;
    for (let last = AT_ONCE; last === AT_ONCE && !signal.aborted; removed += last) {
      last = await prune(before, AT_ONCE);
    }
    if (removed > 0) logger.info({ removed, before }, message);
    return { againInMs: signal.aborted ? 0 : HOUR_MS };
  };
}
