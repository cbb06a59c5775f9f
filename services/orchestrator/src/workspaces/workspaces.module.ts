import type { EventBus } from '@uswarm/event-bus';
import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import type { Connections } from '../records/connections.js';
import { loadAgentTemplates } from '../platform/core/agent-templates.js';
import type { EventService } from '../events/events.service.js';
import type { Idempotency } from '../platform/idempotency/idempotency.service.js';
import type { RuntimeRequests } from '../records/runtime-requests.js';
import { createProvision } from './provision.js';
import { createWorkspaceAccess } from './workspace-access.js';
import { createWorkspaceChanges } from './workspace-changes.js';
import { createWorkspaceListEvents } from './workspace-list-events.js';
import { workspaceHandlers } from './workspaces.routes.js';
import { createWorkspaceService } from './workspaces.service.js';

export interface WorkspacesModuleDeps {
  config: Pick<OrchestratorConfig, 'WORKSPACES_PER_USER' | 'AGENTS_FILE'>;
  connections: Connections;
  replay: EventService;
  runtimes: RuntimeRequests;
  bus: Pick<EventBus, 'publishUserEvent'>;
  idempotency: Idempotency;
  clock: Clock;
}

export function createWorkspacesModule(deps: WorkspacesModuleDeps) {
  const { config, replay, runtimes, idempotency, clock } = deps;
  const { database, withTransaction, jobs, events } = deps.connections;
  const service = createWorkspaceService({ database, clock });
  const provision = createProvision({
    runtimes,
    agentTemplates: loadAgentTemplates(config.AGENTS_FILE),
  });
  const listEvents = createWorkspaceListEvents(deps.bus);
  const changes = createWorkspaceChanges({
    withTransaction,
    database,
    jobs,
    events,
    runtimes,
    provision,
    listEvents,
    idempotency,
    perUser: config.WORKSPACES_PER_USER,
    clock,
  });
  return {
    service,
    /** Tells the owner's devices of a workspace that appeared in another way. */
    announce: async (userId: string, workspaceId: string): Promise<void> =>
      listEvents.created(userId, await service.get(userId, workspaceId)),
    provision,
    access: createWorkspaceAccess(database),
    routes: workspaceHandlers(service, changes, replay),
  };
}
