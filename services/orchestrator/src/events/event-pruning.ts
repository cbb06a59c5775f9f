import type { Clock, Logger } from '@uswarm/service-kit';
import type { JobResult } from '../platform/jobs/job-worker.js';
import { pruningRow } from '../platform/jobs/pruning.js';
import type { EventLog } from '../records/event-log.js';
import type * as gatewayRecords from './gateways.store.js';
import type { Database } from '../platform/database/database.js';

export const EVENT_PRUNING_JOB = 'event-pruning';

export const EVENT_PRUNING = pruningRow(EVENT_PRUNING_JOB);

/** The log has partitions for this many days ahead, which is more than the job can be late. */
export const PARTITIONS_AHEAD = 7;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface EventPruningDeps {
  store: Pick<EventLog, 'createPartitions' | 'dropPartitions'>;
  database: Database;
  gateways: Pick<typeof gatewayRecords, 'pruneGateways'>;
  /** Events are kept this many ms. */
  keepMs: number;
  clock: Clock;
  logger: Logger;
}

/** Runs hourly: creates the log's next partitions and drops partitions that exceed the retention time. */
export function createEventPruning({ store, database, gateways, keepMs, clock, logger }: EventPruningDeps) {
  return async (): Promise<JobResult> => {
    await store.createPartitions(PARTITIONS_AHEAD);
    const now = clock.now().getTime();
    const before = new Date(now - keepMs);
    const dropped = await store.dropPartitions(before);
    if (dropped > 0) logger.info({ dropped, before }, 'partitions with old events were dropped');
    await gateways.pruneGateways(database, new Date(now - DAY_MS));
    return { againInMs: HOUR_MS };
  };
}
