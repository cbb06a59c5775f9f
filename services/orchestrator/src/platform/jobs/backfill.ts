import type { Transaction, WithTransaction } from '../database/database.js';
import type { JobDefinition } from './job-definition.js';
import type { JobQueue } from './job-queue.js';
import type { LeasedJob } from './leased-job.js';

/** Batches per run: a process that ends in between repeats at most one run. */
const BATCHES_PER_RUN = 20;

export interface BackfillDeps {
  /** A migration enqueues the first job, with the nil UUID as the subject. */
  type: string;
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'enqueue'>;
  /** Rewrites a batch of rows after an id, in id order. @returns the batch's last id; undefined if no rows are left */
  rewrite: (after: string, tx: Transaction) => Promise<string | undefined>;
}

/**
 * Rewrites a table after a migration has changed a function that its generated columns use. Each batch locks only its
 * rows. A job's subject is the id before its first row; after a run, it enqueues a job for the next rows.
 */
export const backfill = ({ type, withTransaction, jobs, rewrite }: BackfillDeps): JobDefinition => ({
  type,
  async handle({ subjectId, workspaceId }: LeasedJob, signal: AbortSignal) {
    let after = subjectId;
    for (let batch = 0; batch < BATCHES_PER_RUN && !signal.aborted; batch += 1) {
      const last = await withTransaction((tx) => rewrite(after, tx));
      if (last === undefined) return { done: true };
      after = last;
    }
    if (after === subjectId) return { againInMs: 0 };
    await withTransaction((tx) => jobs.enqueue({ kind: type, subjectId: after, workspaceId }, tx));
    return { done: true };
  },
});
