import type { Workspace } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';

/** Tells the user's other devices that the workspace list changed. Call it after the commit. */
export interface WorkspaceListEvents {
  created(userId: string, workspace: Workspace): void;
  deleted(userId: string, workspaceId: string): void;
}

export function createWorkspaceListEvents({
  publishUserEvent,
}: Pick<EventBus, 'publishUserEvent'>): WorkspaceListEvents {
  return {
    created: (userId, workspace) =>
      publishUserEvent({ v: 1, user_id: userId, event: 'workspace.new', payload: { workspace } }),
    deleted: (userId, workspaceId) =>
      publishUserEvent({ v: 1, user_id: userId, event: 'workspace.deleted', payload: { workspace_id: workspaceId } }),
  };
}
