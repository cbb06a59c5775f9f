import type { Clock } from '@uswarm/service-kit';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import { periodOf } from '../../metering/period.js';
import { pruneDeletedIdentities } from './deleted-accounts.store.js';
import type { Database } from '../../platform/database/database.js';

export const USAGE_PRUNING_JOB = 'usage-pruning';

const NO_ID = '00000000-0000-0000-0000-000000000000';
/** Enqueued at every start. */
export const USAGE_PRUNING = { kind: USAGE_PRUNING_JOB, subjectId: NO_ID, workspaceId: NO_ID };

const HOUR_MS = 3_600_000;

/** Deletes deleted accounts' usage in past periods, hourly. */
export function createUsagePruning({ database, clock }: { database: Database; clock: Clock }) {
  return async (): Promise<JobResult> => {
    await pruneDeletedIdentities(database, periodOf(clock.now()));
    return { againInMs: HOUR_MS };
  };
}
