import { ApiError, type Trigger } from '@uswarm/contract';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import { appendAudit } from '../../records/audit.store.js';
import { findLastRuns, findTrigger, lockTrigger, type TriggerRow } from '../../records/schedule-rows.js';
import { TRIGGER_JOB } from '../../records/trigger-job.js';
import { findSigned } from '../../records/trigger-secrets.store.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';
import { triggerView } from './trigger-view.js';

/** The trigger that a request is about. */
export interface TriggerPath {
  userId: string;
  workspaceId: string;
  id: string;
}

export interface TriggerAccessDeps {
  withTransaction: WithTransaction;
  access: WorkspaceAccess;
  jobs: Pick<JobQueue, 'lock'>;
  /** False if the operator turned triggers off. */
  isEnabled: boolean;
}

/** All methods throw ApiError `triggers_not_enabled` and `workspace_not_found`. */
export interface TriggerAccess {
  requireWorkspace(path: Omit<TriggerPath, 'id'>): Promise<void>;
  /** Locks the trigger for a change. @throws ApiError `trigger_not_found` */
  withTrigger<Result>(path: TriggerPath, write: (row: TriggerRow, tx: Transaction) => Promise<Result>): Promise<Result>;
}

export function createTriggerAccess({ withTransaction, access, jobs, isEnabled }: TriggerAccessDeps): TriggerAccess {
  async function requireWorkspace({ userId, workspaceId }: Omit<TriggerPath, 'id'>): Promise<void> {
    if (!isEnabled) throw new ApiError('triggers_not_enabled');
    await access.require(userId, workspaceId);
  }
  return {
    requireWorkspace,

    /** Lock order everywhere: job, runtime, workspace, trigger. */
    async withTrigger(path, write) {
      await requireWorkspace(path);
      const { workspaceId, id } = path;
      return withTransaction(async (tx) => {
        await jobs.lock(TRIGGER_JOB, id, tx);
        const row = await lockTrigger(tx, workspaceId, id);
        if (row === undefined) throw new ApiError('trigger_not_found');
        return write(row, tx);
      });
    },
  };
}

/** @throws ApiError `trigger_not_found` */
export async function viewTrigger(
  db: Database,
  { workspaceId, id }: Pick<TriggerPath, 'workspaceId' | 'id'>,
): Promise<Trigger> {
  const row = await findTrigger(db, workspaceId, id);
  if (row === undefined) throw new ApiError('trigger_not_found');
  const lastRun = (await findLastRuns(db, [id])).get(id);
  return triggerView(row, { lastRun, isSigned: (await findSigned(db, [id])).has(id) });
}

/** In the action's transaction. */
export const recordTrigger = ({ userId, id: subjectId }: TriggerPath, verb: string, tx: Transaction): Promise<void> =>
  appendAudit(tx, { actor: 'user', action: `trigger.${verb}`, userId, subjectId });
