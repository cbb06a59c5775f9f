import type { Handler } from '../../http/handlers.js';
import type { ConversationService } from './conversations.service.js';

/** spec: orchestrator §4.4 */
export function conversationHandlers(service: ConversationService) {
  const listConversations: Handler<'listConversations'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.list(actor.userId, params.workspaceId) },
  });
  const createConversation: Handler<'createConversation'> = async ({ actor, params, body }) => ({
    status: 201,
    body: { data: await service.create(actor.userId, params.workspaceId, body) },
  });
  const getConversation: Handler<'getConversation'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.workspaceId, params.id) },
  });
  return { listConversations, createConversation, getConversation };
}
