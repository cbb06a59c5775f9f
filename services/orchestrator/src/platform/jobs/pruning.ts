import type { Clock, Logger } from '@uswarm/service-kit';
import type { JobResult } from './job-worker.js';
import type { LeasedJob } from './job-queue.js';

const NO_SUBJECT = '00000000-0000-0000-0000-000000000000';
const HOUR_MS = 3_600_000;
const BATCH = 5_000;

export interface PruningDeps {
  /** Deletes up to `limit` rows older than a time. @returns the number of deleted rows */
  prune: (before: Date, limit: number) => Promise<number>;
  /** Rows are kept this many ms. */
  keepMs: number;
  removed: string;
  clock: Clock;
  logger: Logger;
}

/** The type's only job: it has no workspace, and is due at every start. */
export const pruningRow = (kind: string) => ({ kind, subjectId: NO_SUBJECT, workspaceId: NO_SUBJECT });

/** Deletes expired rows in small transactions, once per hour. */
export function createPruning({ prune, keepMs, removed: message, clock, logger }: PruningDeps) {
  return async (_work: LeasedJob, signal: AbortSignal): Promise<JobResult> => {
    const before = new Date(clock.now().getTime() - keepMs);
    let removed = 0;
    for (let last = BATCH; last === BATCH && !signal.aborted; removed += last) {
      last = await prune(before, BATCH);
    }
    if (removed > 0) logger.info({ removed, before }, message);
    return { againInMs: signal.aborted ? 0 : HOUR_MS };
  };
}
