import { ApiError, type Workspace } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import { workspaceView } from './workspace-view.js';
import { listOwnedWorkspaces, findOwnedWorkspace } from './workspaces.store.js';
import type { Database } from '../platform/database/database.js';

export interface WorkspaceServiceDeps {
  database: Database;
  clock: Clock;
}

export interface WorkspaceService {
  list(userId: string): Promise<Workspace[]>;
  /** @throws ApiError `workspace_not_found` */
  get(userId: string, workspaceId: string): Promise<Workspace>;
}

export function createWorkspaceService({ database, clock }: WorkspaceServiceDeps): WorkspaceService {
  return {
    list: async (userId) => (await listOwnedWorkspaces(database, userId)).map((row) => workspaceView(row, clock.now())),

    async get(userId, workspaceId) {
      const row = await findOwnedWorkspace(database, workspaceId, userId);
      if (row === undefined) throw new ApiError('workspace_not_found');
      return workspaceView(row, clock.now());
    },
  };
}
