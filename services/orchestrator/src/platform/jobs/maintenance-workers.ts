import type { Logger } from '@uswarm/service-kit';
import type { JobDefinition } from './job-definition.js';
import type { JobMetrics } from './job-metrics.js';
import { createDuePoll } from './due-poll.js';
import { createJobWorker } from './job-worker.js';
import type { LeaseKeeper } from './lease-keeper.js';
import type { JobQueue } from './job-queue.js';

export interface MaintenanceWorkersDeps {
  store: JobQueue;
  leases: LeaseKeeper;
  logger: Logger;
  workers: number;
  jobs: readonly JobDefinition[];
  metrics?: JobMetrics | undefined;
  pollMs?: number;
}

/** No user waits for these jobs, so they are polled less often than turns. */
const POLL_MS = 4_000;
/** A job can take a few requests to another server. */
const LEASE_MS = 60_000;

/** Handles jobs that no request waits for: file deletion, token refresh, pruning. */
export function createMaintenanceWorkers({
  store,
  leases,
  logger,
  workers,
  jobs,
  metrics,
  pollMs = POLL_MS,
}: MaintenanceWorkersDeps): {
  close: () => Promise<void>;
} {
  const queues = new Map(
    jobs.map(({ type, handle }) => [
      type,
      createJobWorker({
        kind: type,
        store,
        leases,
        logger,
        concurrency: workers,
        handle,
        metrics,
        leaseMs: LEASE_MS,
      }),
    ]),
  );
  const due = createDuePoll({ store, workers: workers > 0 ? queues : new Map(), pollMs, logger });
  return {
    async close() {
      await due.close();
      await Promise.all([...queues.values()].map((queue) => queue.close()));
    },
  };
}
