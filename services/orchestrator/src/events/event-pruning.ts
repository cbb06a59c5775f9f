import type { Clock, Logger } from '@uswarm/service-kit';
import type { JobResult } from '../platform/jobs/job-worker.js';
import { pruningRow } from '../platform/jobs/pruning.js';
import type { EventStore } from '../records/events.store.js';
import type { GatewayStore } from './gateways.store.js';

export const EVENT_PRUNING_JOB = 'event-pruning';

export const EVENT_PRUNING = pruningRow(EVENT_PRUNING_JOB);

/** Days for which the log has partitions. More than the job can be late. */
export const PARTITIONS_AHEAD = 7;

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

export interface EventPruningDeps {
  store: Pick<EventStore, 'createPartitions' | 'dropPartitions'>;
  gateways: Pick<GatewayStore, 'prune'>;
  /** Retention of events in milliseconds. */
  keepMs: number;
  clock: Clock;
  logger: Logger;
}

/** Creates the next partitions of the log and drops those that exceed the retention time, once per hour. */
export function createEventPruning({ store, gateways, keepMs, clock, logger }: EventPruningDeps) {
  return async (): Promise<JobResult> => {
    await store.createPartitions(PARTITIONS_AHEAD);
    const now = clock.now().getTime();
    const before = new Date(now - keepMs);
    const dropped = await store.dropPartitions(before);
    if (dropped > 0) logger.info({ dropped, before }, 'partitions with old events were dropped');
    await gateways.prune(new Date(now - DAY_MS));
    return { againInMs: HOUR_MS };
  };
}
