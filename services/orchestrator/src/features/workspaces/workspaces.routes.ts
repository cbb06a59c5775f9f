import type { Handler } from '../../http/handlers.js';
import type { WorkspaceService } from './workspaces.service.js';

/** spec: orchestrator §4.3 */
export function workspaceHandlers(service: WorkspaceService) {
  const listWorkspaces: Handler<'listWorkspaces'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.list(actor.userId) },
  });
  const getWorkspace: Handler<'getWorkspace'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.id) },
  });
  return { listWorkspaces, getWorkspace };
}
