import type { Handler } from '../../platform/http/handlers.js';
import { prefersMinimal } from '../../platform/http/prefer.js';
import type { AgentSettingsService } from './agent-settings.service.js';
import type { AgentService } from './agents.service.js';
import type { MemoryService } from './memories.service.js';
import type { OwnAgentService } from './own-agents.service.js';

/** REST-018 to REST-021 */
export function agentHandlers(service: AgentService) {
  const listAgents: Handler<'listAgents'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.list(actor.userId, params.workspaceId) },
  });
  const getAgent: Handler<'getAgent'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.id) },
  });
  const getAgentDetails: Handler<'getAgentDetails'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.details(actor.userId, params.id) },
  });
  const getAgentHistory: Handler<'getAgentHistory'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.history(actor.userId, params.id, query),
  });
  return { listAgents, getAgent, getAgentDetails, getAgentHistory };
}

/** Extensions. */
export function ownAgentHandlers(service: OwnAgentService) {
  const createAgent: Handler<'createAgent'> = async ({ actor, params, headers, body }) => ({
    status: 201,
    body: {
      data: await service.create({ userId: actor.userId, key: headers['idempotency-key'] }, params.workspaceId, body),
    },
  });
  const updateAgent: Handler<'updateAgent'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.update(actor.userId, params.id, body) },
  });
  const deleteAgent: Handler<'deleteAgent'> = async ({ actor, params }) => {
    await service.delete(actor.userId, params.id);
    return { status: 204 };
  };
  return { createAgent, updateAgent, deleteAgent };
}

/** REST-022, REST-023 */
export function agentSettingsHandlers(service: AgentSettingsService) {
  const getAgentSettings: Handler<'getAgentSettings'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.settings(actor.userId, params.id) },
  });
  const updateAgentSettings: Handler<'updateAgentSettings'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.update(actor.userId, params.id, body) },
  });
  const listAgentTools: Handler<'listAgentTools'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.tools(actor.userId, params.id) },
  });
  const updateAgentTool: Handler<'updateAgentTool'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.updateTool(actor.userId, params.id, params.name, body) },
  });
  return { getAgentSettings, updateAgentSettings, listAgentTools, updateAgentTool };
}

/** REST-024 to REST-026, and an extension to edit memories. */
export function memoryHandlers(service: MemoryService) {
  const listAgentMemories: Handler<'listAgentMemories'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params.id, query),
  });
  const createAgentMemory: Handler<'createAgentMemory'> = async ({ actor, params, headers, body }) => {
    const memory = await service.remember(actor.userId, params.id, body);
    return prefersMinimal(headers.prefer) ? { status: 204 } : { status: 200, body: { data: memory } };
  };
  const updateAgentMemory: Handler<'updateAgentMemory'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.edit(actor.userId, params, body) },
  });
  const deleteAgentMemory: Handler<'deleteAgentMemory'> = async ({ actor, params }) => {
    await service.forget(actor.userId, params.id, params.key);
    return { status: 204 };
  };
  return { listAgentMemories, createAgentMemory, updateAgentMemory, deleteAgentMemory };
}
