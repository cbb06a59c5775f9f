import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { Database, WithTransaction } from '../platform/database/database.js';
import { hashedId } from '../platform/database/id.js';
import type { JobResult } from '../platform/jobs/job-worker.js';
import type { LeasedJob, JobQueue } from '../platform/jobs/job-queue.js';
import type { ObjectStore } from './object-store.js';

/** Longer than a turn. */
const ABANDONED_AFTER_MS = 3_600_000;

/** Texts in the object store. Database rows refer to them. */
export interface ContentObjects {
  /** Stores a text. Repeating it with the same owner stores the same object. @returns its key */
  put(owner: readonly string[], content: string): Promise<string>;
  /** @throws ObjectMissing */
  read(objectId: string): Promise<string>;
}

export interface ContentObjectsDeps {
  /** Job type that deletes an object without a row. */
  job: string;
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'enqueue'>;
  objects: Pick<ObjectStore, 'put' | 'open'>;
  /** A writer that has not committed a row after this many ms was interrupted. */
  abandonedAfterMs?: number;
}

/**
 * A UUID that depends on the owner and the content. An untrusted runtime that repeats a call with other content cannot
 * overwrite what was committed.
 */
export function keyOf(owner: readonly string[], content: string): string {
  return hashedId(JSON.stringify([...owner, content]));
}

export function createContentObjects({
  job: kind,
  withTransaction,
  jobs,
  objects,
  abandonedAfterMs = ABANDONED_AFTER_MS,
}: ContentObjectsDeps): ContentObjects {
  return {
    async put(owner, content) {
      const key = keyOf(owner, content);
      // Enqueued before the object exists: an interrupted writer leaves no object without a job.
      const job = { kind, subjectId: key, workspaceId: key, dueInMs: abandonedAfterMs };
      await withTransaction((tx) => jobs.enqueue(job, tx));
      await objects.put(key, Readable.from([Buffer.from(content)], { objectMode: false }));
      return key;
    },

    read: async (objectId) => text(await objects.open(objectId)),
  };
}

export interface ContentRetentionDeps {
  withTransaction: WithTransaction;
  hasObject: (db: Database, objectId: string) => Promise<boolean>;
  jobs: Pick<JobQueue, 'holds' | 'complete'>;
  objects: Pick<ObjectStore, 'remove'>;
}

/** Deletes an object without a row: the object first, so a retry is safe. */
export function createContentRetention({ withTransaction, hasObject, jobs, objects }: ContentRetentionDeps) {
  return async (leased: LeasedJob): Promise<JobResult> => {
    const kept = await withTransaction(async (tx) => {
      if (!(await jobs.holds(leased, tx))) return true;
      if (!(await hasObject(tx, leased.subjectId))) return false;
      // In this transaction: a row that is deleted afterwards enqueues the job again.
      await jobs.complete(leased, tx);
      return true;
    });
    if (!kept) await objects.remove(leased.subjectId);
    return { done: true };
  };
}
