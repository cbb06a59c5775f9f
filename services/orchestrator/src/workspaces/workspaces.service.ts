import { ApiError, type Workspace } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import { workspaceView } from './workspace-view.js';
import type { WorkspaceStore } from './workspaces.store.js';

export interface WorkspaceServiceDeps {
  store: Pick<WorkspaceStore, 'listOwned' | 'findOwned'>;
  clock: Clock;
}

export interface WorkspaceService {
  list(userId: string): Promise<Workspace[]>;
  /** @throws ApiError `workspace_not_found` */
  get(userId: string, workspaceId: string): Promise<Workspace>;
}

export function createWorkspaceService({ store, clock }: WorkspaceServiceDeps): WorkspaceService {
  return {
    list: async (userId) => (await store.listOwned(userId)).map((row) => workspaceView(row, clock.now())),

    async get(userId, workspaceId) {
      const row = await store.findOwned(workspaceId, userId);
      if (row === undefined) throw new ApiError('workspace_not_found');
      return workspaceView(row, clock.now());
    },
  };
}
