import { ApiError } from '@uswarm/contract';
import type { Database } from '../../platform/database/database.js';
import { findWebhook } from '../../records/webhooks.store.js';
import type { WorkspaceAccess } from '../../workspaces/workspace-access.js';

/** The webhook that a request is about. */
export interface WebhookPath {
  userId: string;
  workspaceId: string;
  id: string;
}

type WorkspacePath = Omit<WebhookPath, 'id'>;

/** All methods throw ApiError `workspace_not_found`. */
export interface WebhookAccess {
  requireWorkspace(path: WorkspacePath): Promise<void>;
  /** @throws ApiError `webhooks_not_enabled` */
  requireEnabled(path: WorkspacePath): Promise<void>;
  /** @throws ApiError `webhooks_not_enabled`, `webhook_not_found` */
  requireWebhook(path: WebhookPath): Promise<void>;
}

export function createWebhookAccess(
  database: Database,
  workspaces: WorkspaceAccess,
  areEnabled: boolean,
): WebhookAccess {
  const requireWorkspace = ({ userId, workspaceId }: WorkspacePath) => workspaces.require(userId, workspaceId);
  async function requireEnabled(path: WorkspacePath): Promise<void> {
    if (!areEnabled) throw new ApiError('webhooks_not_enabled');
    await requireWorkspace(path);
  }
  return {
    requireWorkspace,
    requireEnabled,
    async requireWebhook(path) {
      await requireEnabled(path);
      const row = await findWebhook(database, path.workspaceId, path.id);
      if (row === undefined) throw new ApiError('webhook_not_found');
    },
  };
}
