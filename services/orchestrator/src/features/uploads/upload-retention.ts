import type { WithTransaction } from '../../database/database.js';
import type { JobResult } from '../../jobs/job-worker.js';
import type { LeasedJob, JobStore } from '../../jobs/job-store.js';
import type { ObjectStore } from './object-store.js';
import type { UploadFacts, UploadStore } from './uploads.store.js';

/** Job type that deletes an upload if nothing refers to it. */
export const UPLOAD_JOB = 'upload';

const HOUR_MS = 3_600_000;
/** Longer than a request can take: what is still being received then was broken off by a crash. */
export const ABANDONED_AFTER_MS = HOUR_MS;
/** How long a file may wait for its message. */
export const ORPHANED_AFTER_MS = 24 * HOUR_MS;

/** What is to become of an upload: kept for good, kept until it is looked at again, or removed. */
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

export interface UploadKeepingDeps {
  withTransaction: WithTransaction;
  store: Pick<UploadStore, 'lock' | 'hasMessage' | 'markRemoving' | 'delete'>;
  jobs: Pick<JobStore, 'holds' | 'complete'>;
  objects: Pick<ObjectStore, 'remove'>;
}

/** Handles one row of work: the object goes first, then row and work together, so that a crash repeats it. */
export function createUploadKeeping({ withTransaction, store, jobs, objects }: UploadKeepingDeps) {
  function decide(leased: LeasedJob): Promise<Disposition> {
    return withTransaction(async (tx) => {
      // The upload before the work, as a deletion locks them: the other way round is a deadlock.
      const facts = await store.lock(leased.subjectId, tx);
      if (!(await jobs.holds(leased, tx))) return 'keep';
      const disposition =
        facts === undefined ? 'keep' : dispositionOf(facts, await store.hasMessage(leased.subjectId, tx));
      // From here on it cannot be attached.
      if (disposition === 'remove') await store.markRemoving(leased.subjectId, tx);
      // Within the transaction: a message that goes right after it makes the upload due again.
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
      await store.delete(leased.subjectId, tx);
      await jobs.complete(leased, tx);
    });
    return { done: true };
  };
}
