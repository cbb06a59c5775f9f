import type { Handler } from '../platform/http/handlers.js';
import type { EventService } from '../events/events.service.js';
import type { WorkspaceChanges } from './workspace-changes.js';
import type { WorkspaceService } from './workspaces.service.js';

// REST-015, REST-016
export function workspaceHandlers(service: WorkspaceService, changes: WorkspaceChanges, events: EventService) {
  const listWorkspaces: Handler<'listWorkspaces'> = async ({ actor }) => ({
    status: 200,
    body: { data: await service.list(actor.userId, actor.access) },
  });
  const getWorkspace: Handler<'getWorkspace'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.id) },
  });
  const createWorkspace: Handler<'createWorkspace'> = async ({ actor, body, headers }) => ({
    status: 201,
    body: { data: await changes.create({ userId: actor.userId, key: headers['idempotency-key'] }, body.name) },
  });
  const updateWorkspace: Handler<'updateWorkspace'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await changes.update(actor.userId, params.id, body) },
  });
  const deleteWorkspace: Handler<'deleteWorkspace'> = async ({ actor, params }) => {
    await changes.delete(actor.userId, params.id);
    return { status: 204 };
  };
  const listWorkspaceEvents: Handler<'listWorkspaceEvents'> = async ({ actor, params, query }) => {
    const { events: data, hasNext } = await events.after(actor.userId, params.id, query.since);
    return { status: 200, body: { data, has_next: hasNext } };
  };
  return { listWorkspaces, getWorkspace, createWorkspace, updateWorkspace, deleteWorkspace, listWorkspaceEvents };
}
