import type { Handler } from '../../http/handlers.js';
import type { ConversationDeletion } from './conversation-deletion.js';
import type { ConversationService } from './conversations.service.js';

/** spec: orchestrator §4.4 */
export function conversationHandlers(service: ConversationService, deletion: ConversationDeletion) {
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
  const deleteConversation: Handler<'deleteConversation'> = async ({ actor, params }) => {
    await deletion.delete(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  const markConversationRead: Handler<'markConversationRead'> = async ({ actor, params }) => {
    await service.markRead(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  return { listConversations, createConversation, getConversation, deleteConversation, markConversationRead };
}
