import type { Handler } from '../platform/http/handlers.js';
import type { ConversationDeletion } from './conversation-deletion.js';
import type { ConversationService } from './conversations.service.js';
import type { MarkRead } from './read-position.js';

/** REST-027 to REST-031 */
export function conversationHandlers(service: ConversationService, deletion: ConversationDeletion, markRead: MarkRead) {
  const listConversations: Handler<'listConversations'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params.workspaceId, query),
  });
  const createConversation: Handler<'createConversation'> = async ({ actor, params, body, headers }) => {
    const owner = { userId: actor.userId, key: headers['idempotency-key'] };
    return { status: 201, body: { data: await service.create(owner, params.workspaceId, body) } };
  };
  const updateConversation: Handler<'updateConversation'> = async ({ actor, params, body }) => ({
    status: 200,
    body: { data: await service.update(actor.userId, params.workspaceId, params.id, body) },
  });
  const getConversation: Handler<'getConversation'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.workspaceId, params.id) },
  });
  const deleteConversation: Handler<'deleteConversation'> = async ({ actor, params }) => {
    await deletion.delete(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  const markConversationRead: Handler<'markConversationRead'> = async ({ actor, params, body }) => {
    const context = { userId: actor.userId, workspaceId: params.workspaceId, conversationId: params.id };
    await markRead({ ...context, messageId: body.message_id });
    return { status: 204 };
  };
  return {
    listConversations,
    createConversation,
    updateConversation,
    getConversation,
    deleteConversation,
    markConversationRead,
  };
}
