import { randomUUIDv7 } from 'node:crypto';
import { ApiError, type Workspace } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import { requiredLine } from '../platform/http/visible-text.js';
import type { WithTransaction, Database } from '../platform/database/database.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import type { EventLog } from '../records/event-log.js';
import { type Idempotency, type KeyOwner, keyWithoutResult } from '../platform/idempotency/idempotency.service.js';
import type { RuntimeRequests } from '../records/runtime-requests.js';
import { SCHEDULE_JOB } from '../records/schedule-job.js';
import { TRIGGER_JOB } from '../records/trigger-job.js';
import { TURN_JOB } from '../records/turn-job.js';
import { lockOwnedWorkspaces } from '../records/users.store.js';
import type { Provision } from './provision.js';
import type { WorkspaceListEvents } from './workspace-list-events.js';
import { workspaceView } from './workspace-view.js';
import { findOwnedWorkspace, findNamedConversations, isWorkspaceOwnedBy, removeMessages } from './workspaces.store.js';
import { renameWorkspace, deleteWorkspace } from '../records/workspace-rows.js';

export interface WorkspaceChangesDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'cancel'>;
  events: Pick<EventLog, 'append' | 'lock'>;
  runtimes: Pick<RuntimeRequests, 'requestDeletion'>;
  provision: Provision;
  listEvents: WorkspaceListEvents;
  idempotency: Pick<Idempotency, 'once'>;
  /** Maximum workspaces per user. */
  perUser: number;
  clock: Clock;
}

export interface WorkspaceChanges {
  /** @throws ApiError `workspace_limit_reached`, `idempotency_key_reused` */
  create(owner: KeyOwner, name: string): Promise<Workspace>;
  /** @throws ApiError `workspace_not_found` */
  update(userId: string, workspaceId: string, patch: { name?: string | undefined }): Promise<Workspace>;
  /**
   * Deletes a workspace permanently with its contents and its runtime; its usage still counts. @throws ApiError
   * `workspace_not_found`
   */
  delete(userId: string, workspaceId: string): Promise<void>;
}

export function createWorkspaceChanges(deps: WorkspaceChangesDeps): WorkspaceChanges {
  const { withTransaction, database, jobs, events, runtimes, clock } = deps;

  async function read(userId: string, workspaceId: string): Promise<Workspace> {
    const row = await findOwnedWorkspace(database, workspaceId, userId);
    if (row === undefined) throw new ApiError('workspace_not_found');
    return workspaceView(row, clock.now());
  }

  return {
    async create(owner, sent) {
      const name = requiredLine('name', sent);
      const { userId } = owner;
      const request = { ...owner, operation: 'createWorkspace', content: { name } } as const;
      const id = await deps.idempotency.once(request, (claim) =>
        withTransaction(async (tx) => {
          // The user lock makes concurrent creations visible to each other.
          const owned = await lockOwnedWorkspaces(tx, userId);
          const workspaceId = randomUUIDv7();
          await claim(workspaceId, tx);
          if (owned.length >= deps.perUser) throw new ApiError('workspace_limit_reached');
          return deps.provision({ userId, name, workspaceId }, tx);
        }),
      );
      const row = await findOwnedWorkspace(database, id, userId);
      if (row === undefined) throw keyWithoutResult();
      const workspace = workspaceView(row, clock.now());
      deps.listEvents.created(userId, workspace);
      return workspace;
    },

    async update(userId, workspaceId, patch) {
      const name = patch.name === undefined ? undefined : requiredLine('name', patch.name);
      const before = await read(userId, workspaceId);
      if (name === undefined || name === before.name) return before;
      await withTransaction(async (tx) => {
        await events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
        await renameWorkspace(tx, workspaceId, name);
        for (const subjectId of await findNamedConversations(tx, workspaceId)) {
          await events.append({ workspaceId, type: 'conversation.updated', subjectId }, tx);
        }
      });
      return read(userId, workspaceId);
    },

    async delete(userId, workspaceId) {
      if (!(await isWorkspaceOwnedBy(database, workspaceId, userId))) throw new ApiError('workspace_not_found');
      await withTransaction(async (tx) => {
        const owned = await lockOwnedWorkspaces(tx, userId);
        if (!owned.includes(workspaceId)) throw new ApiError('workspace_not_found');
        // Lock order everywhere: jobs, runtime, workspace.
        await jobs.cancel(TURN_JOB, workspaceId, tx);
        await jobs.cancel(SCHEDULE_JOB, workspaceId, tx);
        await jobs.cancel(TRIGGER_JOB, workspaceId, tx);
        await runtimes.requestDeletion(workspaceId, tx);
        await events.lock(workspaceId, tx);
        await removeMessages(tx, workspaceId);
        await deleteWorkspace(tx, workspaceId);
      });
      deps.listEvents.deleted(userId, workspaceId);
    },
  };
}
