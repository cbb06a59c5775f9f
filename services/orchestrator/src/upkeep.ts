import type { Logger } from '@uswarm/service-kit';
import type { WorkMetrics } from './work/work-metrics.js';
import { createWorkQueue, type WorkQueueDeps } from './work/work-queue.js';
import type { LeaseKeeper } from './work/lease-keeper.js';
import type { WorkStore } from './work/work.store.js';

export interface UpkeepDeps {
  store: WorkStore;
  leases: LeaseKeeper;
  logger: Logger;
  /** Rows of each kind handled at once by this process. */
  workers: number;
  /** By kind of work. */
  handlers: Record<string, WorkQueueDeps['handle']>;
  metrics?: WorkMetrics | undefined;
  /** Milliseconds between two looks for due work. */
  pollMs?: number;
}

/** Nobody waits for this work: it is looked for less often than replies are. */
const POLL_MS = 2_000;
/** Each row may take a few requests to another server. */
const LEASE_MS = 60_000;

/** What has to be done sometime, on its own account: files to remove, tokens to renew. */
export function createUpkeep({ store, leases, logger, workers, handlers, metrics, pollMs = POLL_MS }: UpkeepDeps): {
  close: () => Promise<void>;
} {
  const queues = Object.entries(handlers).map(([kind, handle]) =>
    createWorkQueue({ kind, store, leases, logger, concurrency: workers, handle, metrics, pollMs, leaseMs: LEASE_MS }),
  );
  return {
    async close() {
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}
