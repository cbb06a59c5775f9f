import type { Database } from '../../database/database.js';
import type { WorkStore } from '../../work/work.store.js';
import type { RuntimeStore } from './runtimes.store.js';

export const RUNTIME_WORK = 'runtime';

/** What the rest of the service wants of runtimes: said in its own transaction, done by the lifecycle. */
export interface RuntimeWishes {
  want(workspaceId: string, userId: string, db: Database): Promise<void>;
  unwant(workspaceId: string, db: Database): Promise<void>;
  /** To be called once the transaction is committed. */
  wake(): void;
}

export interface RuntimeWishesDeps {
  store: Pick<RuntimeStore, 'want' | 'unwant'>;
  work: Pick<WorkStore, 'enqueue'>;
  wake: () => void;
}

export function createRuntimeWishes({ store, work, wake }: RuntimeWishesDeps): RuntimeWishes {
  const enqueue = (workspaceId: string, db: Database): Promise<void> =>
    work.enqueue({ kind: RUNTIME_WORK, subjectId: workspaceId, workspaceId }, db);
  return {
    async want(workspaceId, userId, db) {
      await store.want(workspaceId, userId, db);
      await enqueue(workspaceId, db);
    },
    async unwant(workspaceId, db) {
      await store.unwant(workspaceId, db);
      await enqueue(workspaceId, db);
    },
    wake,
  };
}
