import { ApiError } from '@uswarm/contract';

/** Foreign and unknown workspaces cause the same error. */
export interface WorkspaceAccess {
  /** @throws ApiError `workspace_not_found` */
  require(userId: string, workspaceId: string): Promise<void>;
}

export function createWorkspaceAccess(store: {
  isOwnedBy(workspaceId: string, userId: string): Promise<boolean>;
}): WorkspaceAccess {
  return {
    async require(userId, workspaceId) {
      if (!(await store.isOwnedBy(workspaceId, userId))) throw new ApiError('workspace_not_found');
    },
  };
}
