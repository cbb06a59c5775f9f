import type { Handler } from '../../http/handlers.js';
import type { AgentService } from './agents.service.js';

/** spec: orchestrator §4.3 */
export function agentHandlers(service: AgentService) {
  const listAgents: Handler<'listAgents'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.list(actor.userId, params.workspaceId) },
  });
  return { listAgents };
}
