import type { Logger } from '@uswarm/service-kit';
import type { JobDefinition } from './job-definition.js';
import type { JobMetrics } from './job-metrics.js';
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
const POLL_MS = 2_000;
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
  const queues = jobs.map(({ type, handle }) =>
    createJobWorker({
      kind: type,
      store,
      leases,
      logger,
      concurrency: workers,
      handle,
      metrics,
      pollMs,
      leaseMs: LEASE_MS,
    }),
  );
  return {
    async close() {
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}
