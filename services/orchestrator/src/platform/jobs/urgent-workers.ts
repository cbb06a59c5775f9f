import type { Logger } from '@uswarm/service-kit';
import type { UrgentJobDefinition } from './job-definition.js';
import type { JobMetrics } from './job-metrics.js';
import type { JobQueue } from './job-queue.js';
import { createDuePoll } from './due-poll.js';
import { createJobWorker } from './job-worker.js';
import type { LeaseKeeper } from './lease-keeper.js';
import type { JobSignals } from './job-signals.js';

export interface UrgentWorkersDeps {
  jobs: readonly UrgentJobDefinition[];
  store: JobQueue;
  leases: LeaseKeeper;
  /** A lease lasts this many ms unless it is extended. */
  leaseMs: number;
  jobSignals: JobSignals;
  metrics: JobMetrics;
  logger: Logger;
}

/** Milliseconds between two polls without a signal: after a crash, a job is found within a lease and this time. */
const POLL_MS = 3_000;

/** Starts one worker for each job type that users wait for. */
export function startUrgentWorkers(deps: UrgentWorkersDeps): { close: () => Promise<void> } {
  const { jobs, store, leases, leaseMs, jobSignals, metrics, logger } = deps;
  const workers = jobs.map(({ type, handle, concurrency, perFairKey, onRun }) => {
    const claim: JobQueue['claim'] =
      perFairKey === undefined
        ? store.claim
        : (kind, limit, claimMs) => store.claimFairly(kind, limit, claimMs, perFairKey);
    const worker = createJobWorker({
      kind: type,
      store: { claim, complete: store.complete, release: store.release },
      leases,
      leaseMs,
      metrics,
      logger,
      concurrency,
      handle,
      onRun,
      forward: () => jobSignals.forward(type),
    });
    jobSignals.subscribe(type, worker.poll);
    return { type, worker, concurrency };
  });
  const able = workers.filter(({ concurrency }) => concurrency > 0);
  const due = createDuePoll({
    store,
    workers: new Map(able.map(({ type, worker }) => [type, worker])),
    pollMs: POLL_MS,
    logger,
  });
  return {
    async close() {
      await due.close();
      await Promise.all(workers.map(({ worker }) => worker.close()));
    },
  };
}
