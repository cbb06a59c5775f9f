import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { WithTransaction } from '../../database/database.js';
import type { JobResult } from '../../jobs/job-worker.js';
import type { LeasedJob, JobStore } from '../../jobs/job-store.js';
import type { ToolCall } from '../tools/platform-tool.js';
import type { ObjectStore } from '../uploads/object-store.js';
import type { ArtifactStore } from './artifacts.store.js';

/** Job type that deletes the content of a version that was deleted, or never committed. */
export const ARTIFACT_OBJECT_JOB = 'artifact-object';

/** Longer than a turn: a call that has not committed after this time was abandoned. */
const ABANDONED_AFTER_MS = 3_600_000;

/** The contents of artifacts in the object store. */
export interface ArtifactContents {
  /** Stores the content that a call writes. Repeating the call stores the same object. @returns its key */
  put(call: Pick<ToolCall, 'turnId' | 'id'>, content: string): Promise<string>;
  /** @throws ObjectMissing */
  read(objectId: string): Promise<string>;
}

export interface ArtifactContentsDeps {
  withTransaction: WithTransaction;
  jobs: Pick<JobStore, 'enqueue'>;
  objects: Pick<ObjectStore, 'put' | 'open'>;
}

/**
 * The key of a content: a UUID that depends on turn, call and content. An untrusted runtime that repeats a call with
 * other content cannot overwrite what was committed.
 */
function keyOf({ turnId, id }: Pick<ToolCall, 'turnId' | 'id'>, content: string): string {
  const hash = createHash('sha256')
    .update(JSON.stringify([turnId, id, content]))
    .digest('hex');
  // Version 8 of RFC 9562: the other bits are free.
  const parts = [hash.slice(0, 8), hash.slice(8, 12), `8${hash.slice(13, 16)}`, `8${hash.slice(17, 20)}`];
  return [...parts, hash.slice(20, 32)].join('-');
}

export function createArtifactContents({ withTransaction, jobs, objects }: ArtifactContentsDeps): ArtifactContents {
  return {
    async put(call, content) {
      const key = keyOf(call, content);
      // Before the object exists: an interrupted call leaves no object without a job.
      const job = { kind: ARTIFACT_OBJECT_JOB, subjectId: key, workspaceId: key, dueInMs: ABANDONED_AFTER_MS };
      await withTransaction((tx) => jobs.enqueue(job, tx));
      await objects.put(key, Readable.from([Buffer.from(content)], { objectMode: false }));
      return key;
    },

    read: async (objectId) => text(await objects.open(objectId)),
  };
}

export interface ArtifactRetentionDeps {
  withTransaction: WithTransaction;
  store: Pick<ArtifactStore, 'hasObject'>;
  jobs: Pick<JobStore, 'holds' | 'complete'>;
  objects: Pick<ObjectStore, 'remove'>;
}

/** The handler of the jobs of contents: deletes an object without a version. Deletes the object first, so a retry is safe. */
export function createArtifactRetention({ withTransaction, store, jobs, objects }: ArtifactRetentionDeps) {
  return async (leased: LeasedJob): Promise<JobResult> => {
    const kept = await withTransaction(async (tx) => {
      if (!(await jobs.holds(leased, tx))) return true;
      if (!(await store.hasObject(leased.subjectId, tx))) return false;
      // In this transaction: a version that is deleted afterwards enqueues the job again.
      await jobs.complete(leased, tx);
      return true;
    });
    if (!kept) await objects.remove(leased.subjectId);
    return { done: true };
  };
}
