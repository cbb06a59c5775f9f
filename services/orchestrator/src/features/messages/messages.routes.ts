import type { Handler } from '../../http/handlers.js';
import type { MessageService } from './messages.service.js';

/** spec: orchestrator §4.4 */
export function messageHandlers(service: MessageService) {
  const listMessages: Handler<'listMessages'> = async ({ actor, params, query }) => ({
    status: 200,
    body: await service.list(actor.userId, params.workspaceId, params.id, query),
  });
  const sendMessage: Handler<'sendMessage'> = async ({ actor, params, body }) => {
    const { local_id: localId, ...draft } = body;
    const target = { userId: actor.userId, workspaceId: params.workspaceId, conversationId: params.id, localId };
    return { status: 201, body: { data: await service.send(target, draft) } };
  };
  return { listMessages, sendMessage };
}
