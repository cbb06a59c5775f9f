import type { Handler, PositionedHandler } from '../../http/handlers.js';
import type { StopService } from '../turns/cancellation/stop.service.js';
import type { ActionService } from './actions.service.js';
import type { MessageDeletion } from './message-deletion.js';
import type { MessageRevision } from './message-revision.js';
import type { MessageService } from './messages.service.js';
import type { MessageSearch } from './search.service.js';

// REST-032 to REST-035
export function messageHandlers(
  service: MessageService,
  search: MessageSearch,
  actions: ActionService,
  stops: StopService,
  deletion: MessageDeletion,
  revision: MessageRevision,
) {
  const listMessages: PositionedHandler<'listMessages'> = {
    async handle({ actor, params, query }, readPosition) {
      const context = { userId: actor.userId, workspaceId: params.workspaceId, conversationId: params.id };
      const { page, position } = await service.list(context, query, readPosition);
      return { answer: { status: 200, body: page }, position };
    },
  };
  const sendMessage: Handler<'sendMessage'> = async ({ actor, params, body }) => {
    const { local_id: localId, ...draft } = body;
    const target = { userId: actor.userId, workspaceId: params.workspaceId, conversationId: params.id, localId };
    return { status: 201, body: { data: await service.send(target, draft) } };
  };
  const searchMessages: PositionedHandler<'searchMessages'> = {
    async handle({ actor, params, query, signal }, readPosition) {
      const context = { userId: actor.userId, workspaceId: params.workspaceId, conversationId: params.id };
      const { page, position } = await search(context, query, readPosition, signal);
      return { answer: { status: 200, body: page }, position };
    },
  };
  const getMessage: Handler<'getMessage'> = async ({ actor, params }) => ({
    status: 200,
    body: { data: await service.get(actor.userId, params.workspaceId, params.id) },
  });
  const deleteMessage: Handler<'deleteMessage'> = async ({ actor, params }) => {
    await deletion.delete(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  const editMessage: Handler<'editMessage'> = async ({ actor, params, body }) => {
    const target = { userId: actor.userId, workspaceId: params.workspaceId, messageId: params.id };
    return { status: 200, body: { data: await revision.edit(target, body) } };
  };
  const regenerateMessage: Handler<'regenerateMessage'> = async ({ actor, params }) => {
    const target = { userId: actor.userId, workspaceId: params.workspaceId, messageId: params.id };
    return { status: 200, body: { data: await revision.regenerate(target) } };
  };
  const chooseAction: Handler<'chooseAction'> = async ({ actor, params, body }) => {
    const target = { userId: actor.userId, workspaceId: params.workspaceId, messageId: params.id };
    return { status: 200, body: { data: await actions.choose({ ...target, actionId: body.action_id }) } };
  };
  const stopMessage: Handler<'stopMessage'> = async ({ actor, params }) => {
    await stops.stop(actor.userId, params.workspaceId, params.id);
    return { status: 204 };
  };
  return {
    listMessages,
    sendMessage,
    searchMessages,
    getMessage,
    deleteMessage,
    editMessage,
    regenerateMessage,
    chooseAction,
    stopMessage,
  };
}
