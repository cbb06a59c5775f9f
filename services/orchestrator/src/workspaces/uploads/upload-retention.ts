import type { WithTransaction } from '../../platform/database/database.js';
import type { JobResult } from '../../platform/jobs/job-worker.js';
import type { LeasedJob, JobQueue } from '../../platform/jobs/job-queue.js';
import type { ObjectStore } from '../../records/object-store.js';
import { type UploadFacts, lockUpload, isUploadAttached, markUploadRemoving, deleteUpload } from './uploads.store.js';

/** Job type that deletes an upload if nothing refers to it. */
export const UPLOAD_JOB = 'upload';

const HOUR_MS = 3_600_000;
/** Longer than any request: an upload that is still incomplete after this time was interrupted by a crash. */
export const ABANDONED_AFTER_MS = HOUR_MS;
/** Files without a message are deleted after this time. */
export const ORPHANED_AFTER_MS = 24 * HOUR_MS;

export type Disposition = 'keep' | 'remove' | { againInMs: number };

export function dispositionOf({ state, owned, attached, ageMs }: UploadFacts, hasMessage: boolean): Disposition {
  const until = (endMs: number): Disposition => (ageMs >= endMs ? 'remove' : { againInMs: endMs - ageMs });
  if (state === 'removing') return 'remove';
  // The receiving process may still be writing; it removes an upload that fails.
  if (state === 'receiving') return until(ABANDONED_AFTER_MS);
  if (!owned) return 'remove';
  if (hasMessage) return 'keep';
  return attached ? 'remove' : until(ORPHANED_AFTER_MS);
}

export interface UploadRetentionDeps {
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'holds' | 'complete'>;
  objects: Pick<ObjectStore, 'remove'>;
}

/** Deletes the object first, then row and job in one transaction, so that a retry is safe. */
export function createUploadRetention({ withTransaction, jobs, objects }: UploadRetentionDeps) {
  function decide(leased: LeasedJob): Promise<Disposition> {
    return withTransaction(async (tx) => {
      // Lock order everywhere: upload, job.
      const facts = await lockUpload(tx, leased.subjectId);
      if (!(await jobs.holds(leased, tx))) return 'keep';
      const disposition =
        facts === undefined ? 'keep' : dispositionOf(facts, await isUploadAttached(tx, leased.subjectId));
      // The upload can no longer be attached.
      if (disposition === 'remove') await markUploadRemoving(tx, leased.subjectId);
      // In this transaction: a message that is deleted afterwards enqueues the job again.
      if (disposition === 'keep') await jobs.complete(leased, tx);
      return disposition;
    });
  }

  return async (leased: LeasedJob): Promise<JobResult> => {
    const disposition = await decide(leased);
    if (typeof disposition === 'object') return disposition;
    if (disposition === 'keep') return { done: true };
    await objects.remove(leased.subjectId);
    await withTransaction(async (tx) => {
      await deleteUpload(tx, leased.subjectId);
      await jobs.complete(leased, tx);
    });
    return { done: true };
  };
}
