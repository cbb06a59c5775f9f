import { ApiError, type SubscriptionsAnswer, type Workspace } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import { isId } from '../../database/id.js';
import { workspaceView } from './workspace-view.js';
import type { WorkspaceStore } from './workspaces.store.js';

export interface WorkspaceServiceDeps {
  store: Pick<WorkspaceStore, 'listOwned' | 'findOwned' | 'subscribable'>;
  clock: Clock;
}

export interface WorkspaceService {
  list(userId: string): Promise<Workspace[]>;
  /** @throws ApiError `workspace_not_found` */
  get(userId: string, workspaceId: string): Promise<Workspace>;
  /** The workspaces of the list to which the user may subscribe, with their last sequence. */
  subscriptions(userId: string, workspaceIds: readonly string[]): Promise<SubscriptionsAnswer>;
}

export function createWorkspaceService({ store, clock }: WorkspaceServiceDeps): WorkspaceService {
  return {
    list: async (userId) => (await store.listOwned(userId)).map((row) => workspaceView(row, clock.now())),

    async get(userId, workspaceId) {
      const row = await store.findOwned(workspaceId, userId);
      if (row === undefined) throw new ApiError('workspace_not_found');
      return workspaceView(row, clock.now());
    },

    async subscriptions(userId, workspaceIds) {
      const rows = await store.subscribable(userId, workspaceIds.filter(isId));
      const found = new Map(rows.map((row) => [row.id, row.last_seq]));
      const rejected = workspaceIds.filter((id) => !found.has(id));
      return {
        accepted: [...found].map(([workspace_id, last_seq]) => ({ workspace_id, last_seq })),
        rejected: rejected.map((workspace_id) => ({ workspace_id, code: 'workspace_not_found' })),
      };
    },
  };
}
