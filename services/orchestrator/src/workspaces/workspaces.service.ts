import { ApiError, reachesWorkspace, type TokenAccess, type Workspace } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import { workspaceView } from './workspace-view.js';
import { listOwnedWorkspaces, findOwnedWorkspace } from './workspaces.store.js';
import type { Database } from '../platform/database/database.js';

export interface WorkspaceServiceDeps {
  database: Database;
  clock: Clock;
}

export interface WorkspaceService {
  /** Only workspaces that the API token reaches. */
  list(userId: string, access: TokenAccess | null): Promise<Workspace[]>;
  /** @throws ApiError `workspace_not_found` */
  get(userId: string, workspaceId: string): Promise<Workspace>;
}

export function createWorkspaceService({ database, clock }: WorkspaceServiceDeps): WorkspaceService {
  return {
    async list(userId, access) {
      const rows = await listOwnedWorkspaces(database, userId);
      return rows.filter(({ id }) => reachesWorkspace(access, id)).map((row) => workspaceView(row, clock.now()));
    },

    async get(userId, workspaceId) {
      const row = await findOwnedWorkspace(database, workspaceId, userId);
      if (row === undefined) throw new ApiError('workspace_not_found');
      return workspaceView(row, clock.now());
    },
  };
}
