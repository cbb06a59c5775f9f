import { ApiError } from '@uswarm/contract';
import type { Database } from '../../database/database.js';
import type { WorkStore } from '../../work/work.store.js';
import type { RuntimeStore } from './runtimes.store.js';

export const RUNTIME_WORK = 'runtime';

/** What the rest of the service wants of runtimes: said in its own transaction, done by the lifecycle. */
export interface RuntimeWishes {
  want(workspaceId: string, userId: string, db: Database): Promise<void>;
  unwant(workspaceId: string, db: Database): Promise<void>;
  /**
   * Keeps the runtime from being suspended until the transaction ends, and wants one that is
   * suspended to run. Call it first in a transaction that leaves work for the runtime: the runtime is
   * locked before the workspace.
   *
   * @returns whether it was suspended; `woken` is then to be called after the commit.
   * @throws ApiError `workspace_not_found` where its deletion came first
   */
  keepAwake(workspaceId: string, db: Database): Promise<boolean>;
  /** Has the lifecycle look at the runtime now instead of at the next poll of the work queue. */
  woken(workspaceId: string): void;
  /** To be called once the transaction of `want` or `unwant` is committed. */
  wake(): void;
}

export interface RuntimeWishesDeps {
  store: Pick<RuntimeStore, 'want' | 'unwant' | 'lock' | 'resume'>;
  work: Pick<WorkStore, 'enqueue' | 'nudge'>;
  woken: (workspaceId: string) => void;
  wake: () => void;
}

export function createRuntimeWishes({ store, work, woken, wake }: RuntimeWishesDeps): RuntimeWishes {
  const enqueue = (workspaceId: string, db: Database): Promise<void> =>
    work.enqueue({ kind: RUNTIME_WORK, subjectId: workspaceId, workspaceId }, db);
  return {
    async want(workspaceId, userId, db) {
      await store.want(workspaceId, userId, db);
      await enqueue(workspaceId, db);
    },
    async unwant(workspaceId, db) {
      // The work before the runtime, as the lifecycle locks them: the other way round is a deadlock.
      await enqueue(workspaceId, db);
      await store.unwant(workspaceId, db);
    },
    async keepAwake(workspaceId, db) {
      // The lock alone first: what is read under it is what the other side left.
      const desired = await store.lock(workspaceId, db);
      if (desired === undefined || desired === 'deleted') throw new ApiError('workspace_not_found');
      if (desired === 'running') return false;
      await store.resume(workspaceId, db);
      // In the transaction: a process that dies after the commit leaves the work due. The work row is locked after the
      // runtime here, so the lock must not be waited for.
      await work.nudge(RUNTIME_WORK, workspaceId, db);
      return true;
    },
    woken,
    wake,
  };
}
