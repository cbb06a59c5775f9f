import { ApiError } from '@uswarm/contract';
import type { Database } from '../platform/database/database.js';
import { isWorkspaceOwnedBy } from './workspaces.store.js';

/** Foreign and unknown workspaces cause the same error. */
export interface WorkspaceAccess {
  /** @throws ApiError `workspace_not_found` */
  require(userId: string, workspaceId: string): Promise<void>;
}

export function createWorkspaceAccess(database: Database): WorkspaceAccess {
  return {
    async require(userId, workspaceId) {
      if (!(await isWorkspaceOwnedBy(database, workspaceId, userId))) throw new ApiError('workspace_not_found');
    },
  };
}
