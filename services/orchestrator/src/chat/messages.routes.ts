import type { ReadAnywhere, ReadFromStandby, ReadSource } from '../platform/database/standby-reads.js';
import type { Handler, HandlerInput, PositionedHandler, ReadRoutePosition } from '../platform/http/handlers.js';
import type { StopService } from '../turns/stop.service.js';
import type { ActionService } from './actions.service.js';
import type { MessageDeletion } from './message-deletion.js';
import type { MessageRevision } from './message-revision.js';
import type { MessageService } from './messages.service.js';
import type { OpenCardService } from './open-cards.service.js';
import type { PositionedPage } from './page.js';
import type { MessageSearch } from './search.service.js';

function requestedConversation({ actor, params }: Pick<HandlerInput<'listMessages'>, 'actor' | 'params'>) {
  return { userId: actor.userId, workspaceId: params.workspaceId, conversationId: params.id };
}

const positioned = ({ page, position }: PositionedPage) => ({ answer: { status: 200 as const, body: page }, position });

// REST-032 to REST-035
export function messageHandlers(
  service: MessageService,
  search: MessageSearch,
  actions: ActionService,
  stops: StopService,
  deletion: MessageDeletion,
  revision: MessageRevision,
  openCards: OpenCardService,
  readFromStandby: ReadFromStandby,
) {
  const anywhere =
    (
      { params, headers }: Pick<HandlerInput<'listMessages'>, 'params' | 'headers'>,
      readPosition: ReadRoutePosition,
    ): ReadAnywhere =>
    (read) =>
      readFromStandby({ workspaceId: params.workspaceId, seen: headers['x-workspace-position'], readPosition }, read);
  const listMessages: PositionedHandler<'listMessages'> = {
    async handle(input, readPosition) {
      const list = (source: ReadSource) => service.list(requestedConversation(input), input.query, source);
      return positioned(await anywhere(input, readPosition)(list));
    },
  };
  const sendMessage: Handler<'sendMessage'> = async ({ actor, params, body }) => {
    const { local_id: localId, ...draft } = body;
    const target = { ...requestedConversation({ actor, params }), localId };
    return { status: 201, body: { data: await service.send(target, draft) } };
  };
  const searchMessages: PositionedHandler<'searchMessages'> = {
    async handle(input, readPosition) {
      const source = anywhere(input, readPosition);
      return positioned(await search(requestedConversation(input), input.query, source, input.signal));
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
    return {
      status: 200,
      body: { data: await actions.choose({ ...target, actionId: body.action_id, values: body.values }) },
    };
  };
  const listOpenCards: Handler<'listOpenCards'> = async ({ actor, query }) => ({
    status: 200,
    body: await openCards.list(actor.userId, { ...query, workspaceIds: actor.access?.workspace_ids ?? null }),
  });
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
    listOpenCards,
    stopMessage,
  };
}
