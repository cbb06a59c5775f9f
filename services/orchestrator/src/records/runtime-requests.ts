import { ApiError } from '@uswarm/contract';
import type { Transaction } from '../platform/database/database.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import type { RuntimeMetrics } from '../runtimes/runtime-metrics.js';
import type * as runtimeRecords from './runtimes.store.js';

export const RUNTIME_JOB = 'runtime';

/** Changes the desired state in the caller's transaction; the reconciler acts on it after the commit. */
export interface RuntimeRequests {
  requestRunning(workspaceId: string, userId: string, tx: Transaction): Promise<void>;
  requestDeletion(workspaceId: string, tx: Transaction): Promise<void>;
  /**
   * Prevents the runtime from being suspended until the transaction ends, and resumes a suspended one. Call it first in
   * a transaction that enqueues a turn: the runtime is locked before the workspace.
   *
   * @returns true if it was suspended
   * @throws ApiError `workspace_not_found` if it is deleted
   */
  ensureResumed(workspaceId: string, tx: Transaction): Promise<boolean>;
}

export interface RuntimeRequestsDeps {
  store: Pick<typeof runtimeRecords, 'insertRuntime' | 'markRuntimeDeleted' | 'lockRuntime' | 'resumeRuntime'>;
  jobs: Pick<JobQueue, 'enqueue' | 'tryMakeDueNow'>;
  /** Uses the background connections. */
  makeDueNow: JobQueue['makeDueNow'];
  metrics: Pick<RuntimeMetrics, 'resumed'>;
}

export function createRuntimeRequests({ store, jobs, makeDueNow, metrics }: RuntimeRequestsDeps): RuntimeRequests {
  const enqueue = (workspaceId: string, tx: Transaction): Promise<void> =>
    jobs.enqueue({ kind: RUNTIME_JOB, subjectId: workspaceId, workspaceId }, tx);
  return {
    async requestRunning(workspaceId, userId, tx) {
      await store.insertRuntime(tx, workspaceId, userId);
      await enqueue(workspaceId, tx);
    },
    async requestDeletion(workspaceId, tx) {
      // Locks the job before the runtime, as the reconciler does: the opposite order can deadlock.
      await enqueue(workspaceId, tx);
      await store.markRuntimeDeleted(tx, workspaceId);
    },
    async ensureResumed(workspaceId, tx) {
      // Lock before reading, so that the state is what the last writer committed.
      const desired = await store.lockRuntime(tx, workspaceId);
      if (desired === undefined || desired === 'deleted') throw new ApiError('workspace_not_found');
      if (desired === 'running') return false;
      await store.resumeRuntime(tx, workspaceId);
      // In the transaction, so that the job is due even if the process crashes after the commit. Skips a locked row:
      // the runtime is locked already, so waiting for the job row violates the lock order.
      await jobs.tryMakeDueNow(RUNTIME_JOB, workspaceId, tx);
      tx.afterCommit(() => {
        metrics.resumed();
        return makeDueNow(RUNTIME_JOB, workspaceId);
      }, `resume ${workspaceId}`);
      return true;
    },
  };
}
