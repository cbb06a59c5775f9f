import type { NewJob } from './job-queue.js';
import type { JobWorkerDeps } from './job-worker.js';

export interface JobDefinition {
  /** Stored in the database, and the `kind` label in metrics: never change it after a release. */
  type: string;
  handle: JobWorkerDeps['handle'];
  atStart?: NewJob;
}

/** A job type with its own workers: users wait for it, so a new job is signalled to them. */
export interface UrgentJobDefinition extends JobDefinition {
  concurrency: number;
  /** Shares the workers fairly: concurrent jobs per fair key. Default: no sharing. */
  perFairKey?: number;
  onRun?: JobWorkerDeps['onRun'];
}
