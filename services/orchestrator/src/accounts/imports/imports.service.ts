import { randomUUIDv7 } from 'node:crypto';
import { ApiError, LIMITS, type WorkspaceImport } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Database, WithTransaction } from '../../platform/database/database.js';
import type { FormFile } from '../../platform/http/form.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { ObjectStore } from '../../records/object-store.js';
import { lockOwnedWorkspaces } from '../../records/users.store.js';
import { putContent } from '../../workspaces/uploads/receive-upload.js';
import type { TransferSlots } from '../../workspaces/uploads/transfer-slots.js';
import { IMPORT_JOB } from './import-job.js';
import {
  deleteImport,
  findImportsOf,
  finishReceiving,
  getImport,
  type ImportRow,
  insertImport,
} from './imports.store.js';

export interface ImportServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'enqueue' | 'cancel'>;
  objects: Pick<ObjectStore, 'put' | 'remove'>;
  slots: TransferSlots;
  workspacesPerUser: number;
  /** Minimum time between a user's imports in ms. */
  intervalMs: number;
  clock: Clock;
  logger: Logger;
}

export interface ImportService {
  /**
   * Stores a file while it is received. A failed upload is deleted.
   *
   * @throws ApiError `workspace_limit_reached`, `import_in_progress`, `service_unavailable`, `rate_limited`
   */
  receive(userId: string, file: FormFile): Promise<WorkspaceImport>;
  /** @throws ApiError `import_not_found` */
  get(userId: string, id: string): Promise<WorkspaceImport>;
}

/** Longer than any request. */
const ABANDONED_AFTER_MS = LIMITS.requestMs + 300_000;

function view({ id, status, problem, workspace_id, created_at }: ImportRow): WorkspaceImport {
  const shown = status === 'receiving' ? 'pending' : status;
  return { id, status: shown, problem, workspace_id, created_at: created_at.toISOString() };
}

export function createImportService(deps: ImportServiceDeps): ImportService {
  const { withTransaction, database, jobs, objects } = deps;

  const schedule = (id: string, dueInMs: number) => ({ kind: IMPORT_JOB, subjectId: id, workspaceId: id, dueInMs });

  async function stored(id: string, file: FormFile): Promise<number> {
    const size = await putContent(objects, id, file.content);
    await file.complete;
    return size;
  }

  async function forget(id: string): Promise<void> {
    try {
      await objects.remove(id);
      await withTransaction(async (tx) => {
        await deleteImport(tx, id);
        await jobs.cancel(IMPORT_JOB, id, tx);
      });
    } catch (error) {
      deps.logger.warn({ err: error, import: id }, 'deleting a failed import failed; will retry');
    }
  }

  async function receiveInto(id: string, userId: string, file: FormFile): Promise<WorkspaceImport> {
    await withTransaction(async (tx) => {
      const owned = await lockOwnedWorkspaces(tx, userId);
      if (owned.length >= deps.workspacesPerUser) throw new ApiError('workspace_limit_reached');
      const { unfinished, last } = await findImportsOf(tx, userId);
      if (unfinished !== null) throw new ApiError('import_in_progress', { extra: { import_id: unfinished } });
      const waitMs = last === null ? 0 : last.getTime() + deps.intervalMs - deps.clock.now().getTime();
      if (waitMs > 0) throw new ApiError('rate_limited', { extra: { retry_after_ms: waitMs } });
      await insertImport(tx, id, userId);
      await jobs.enqueue(schedule(id, ABANDONED_AFTER_MS), tx);
    });
    try {
      const size = await stored(id, file);
      return await withTransaction(async (tx) => {
        const row = await finishReceiving(tx, id, size);
        if (row === undefined) throw new ApiError('internal_error');
        await jobs.enqueue(schedule(id, 0), tx);
        return view(row);
      });
    } catch (error) {
      await forget(id);
      throw error;
    }
  }

  return {
    async receive(userId, file) {
      const release = deps.slots.take(userId, file);
      try {
        return await receiveInto(randomUUIDv7(), userId, file);
      } finally {
        release();
      }
    },

    async get(userId, id) {
      const row = await getImport(database, id);
      if (row === undefined || row.user_id !== userId) throw new ApiError('import_not_found');
      if (row.expires_at !== null && row.expires_at.getTime() <= deps.clock.now().getTime())
        throw new ApiError('import_not_found');
      return view(row);
    },
  };
}
