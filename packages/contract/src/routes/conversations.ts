import { z } from 'zod';
import { LIMITS } from '../limits.js';
import {
  Conversation,
  ConversationPage,
  CreateConversationBody,
  MarkReadBody,
  UpdateConversationBody,
} from '../resources/conversation.js';
import { EditMessageBody, ListedMessage, MessageData, MessagePage, SendMessageBody } from '../resources/message.js';
import { data } from '../resources/primitives.js';
import { created, defineRoute, id, idempotencyKey, noContent, ok } from './define.js';
import { messageListQuery, optionalPageQuery, pageQuery } from './pages.js';

const workspace = { workspaceId: id('workspace_not_found') };
const conversation = { ...workspace, id: id('conversation_not_found') };
const message = { ...workspace, id: id('message_not_found') };

/** spec: orchestrator §4.4 */
export const conversationRoutes = [
  defineRoute({
    operationId: 'listConversations',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations',
    auth: 'user',
    tag: 'conversations',
    summary: 'The conversations of the workspace, the most recently active first',
    spec: 'orchestrator §4.4',
    params: workspace,
    query: optionalPageQuery,
    responses: ok(ConversationPage),
    errors: ['cursor_invalid'],
  }),
  defineRoute({
    operationId: 'createConversation',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/conversations',
    auth: 'user',
    tag: 'conversations',
    summary: 'Starts a conversation with the swarm or with one agent',
    spec: 'orchestrator §4.4',
    params: workspace,
    headers: idempotencyKey,
    body: CreateConversationBody,
    responses: created(data(Conversation)),
    errors: [
      'agent_id_required',
      'agent_id_not_allowed',
      'agent_not_found',
      'conversation_limit_reached',
      'idempotency_key_reused',
    ],
  }),
  defineRoute({
    operationId: 'getConversation',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}',
    auth: 'user',
    tag: 'conversations',
    summary: 'One conversation',
    spec: 'orchestrator §4.4',
    params: conversation,
    responses: ok(data(Conversation)),
  }),
  defineRoute({
    operationId: 'updateConversation',
    method: 'patch',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}',
    auth: 'user',
    tag: 'conversations',
    summary: 'Sets or resets the title of a conversation',
    spec: 'extension',
    params: conversation,
    body: UpdateConversationBody,
    responses: ok(data(Conversation)),
  }),
  defineRoute({
    operationId: 'deleteConversation',
    method: 'delete',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}',
    auth: 'user',
    tag: 'conversations',
    summary: 'Deletes a conversation for good, with its messages and attachments; replies on their way are stopped',
    spec: 'orchestrator §4.4',
    params: conversation,
    responses: noContent,
  }),
  defineRoute({
    operationId: 'markConversationRead',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/read',
    auth: 'user',
    tag: 'conversations',
    summary: 'Mark the conversation as read, as a whole or up to a message',
    description:
      'Without a body, everything that was shown until now is read. With `message_id`, everything up to and including ' +
      'that message is. The read position never moves back. Other devices get `conversation.updated` and, if the ' +
      'unread count changes, `workspace.updated`.',
    spec: 'orchestrator §4.4',
    params: conversation,
    body: MarkReadBody,
    bodyOptional: true,
    responses: noContent,
    errors: ['message_not_found'],
  }),
] as const;

/** spec: orchestrator §4.4 */
export const messageRoutes = [
  defineRoute({
    operationId: 'listMessages',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/messages',
    auth: 'user',
    tag: 'messages',
    summary: 'A page of messages: `backward` newest first, `forward` oldest first',
    description:
      'With `direction=backward`, `prev_scroll_id` is set on every page that has messages: when `has_prev` is false, it ' +
      'gives the messages that arrive later. `around`, `after` and `before` begin at a message instead of a cursor; ' +
      'their pages are in the order of `direction`.',
    spec: 'orchestrator §4.4',
    params: conversation,
    query: messageListQuery,
    responses: ok(MessagePage),
    errors: ['cursor_invalid', 'message_not_found'],
  }),
  defineRoute({
    operationId: 'searchMessages',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/messages/search',
    auth: 'user',
    tag: 'messages',
    summary: 'Messages that contain every word of q, also within words and whatever the letter case; newest first',
    spec: 'orchestrator §4.4',
    params: conversation,
    query: pageQuery.omit({ direction: true }).extend({
      q: z
        .string()
        .min(1)
        .max(LIMITS.searchText)
        .meta({
          description: `Up to ${LIMITS.searchWords} different words, separated by blanks; every character is taken literally.`,
        }),
    }),
    responses: ok(MessagePage),
    errors: ['cursor_invalid', 'search_timeout'],
  }),
  defineRoute({
    operationId: 'sendMessage',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/messages',
    auth: 'user',
    tag: 'messages',
    summary: 'Sends a message; the reply comes over the socket',
    spec: 'orchestrator §4.4',
    params: conversation,
    body: SendMessageBody,
    responses: created(data(MessageData)),
    errors: [
      'content_type_not_allowed',
      'mention_invalid',
      'attachment_invalid',
      'local_id_reused',
      'turn_queue_full',
      'token_limit_reached',
    ],
  }),
  defineRoute({
    operationId: 'getMessage',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/messages/{id}',
    auth: 'user',
    tag: 'messages',
    summary: 'Get a message, with attachment links that work from now on',
    spec: 'extension',
    params: message,
    responses: ok(data(ListedMessage)),
  }),
  defineRoute({
    operationId: 'deleteMessage',
    method: 'delete',
    path: '/v1/workspaces/{workspaceId}/messages/{id}',
    auth: 'user',
    tag: 'messages',
    summary: 'Delete a message permanently',
    description:
      'Deletes any message of the user or of an agent, with its attachments. Agents no longer see it. Its `local_id` ' +
      'stays used. Replies to a deleted message stay. If the message has an unfinished reply (queued or being ' +
      'written), or is one, the reply is cancelled first: everything that it has written is deleted too. Each ' +
      'deletion is announced by `message.deleted`. A tool line, card or note of an unfinished reply is refused with ' +
      '`turn_running`.',
    spec: 'extension',
    params: message,
    responses: noContent,
    errors: ['turn_running'],
  }),
  defineRoute({
    operationId: 'editMessage',
    method: 'patch',
    path: '/v1/workspaces/{workspaceId}/messages/{id}',
    auth: 'user',
    tag: 'messages',
    summary: 'Edit the newest message of the user and have it answered again',
    description:
      'Only the newest message of the user in its conversation can be edited (`message_not_latest`). A reply to it ' +
      'that is queued or being written is cancelled. All answers to it are deleted, with `message.deleted` for each. ' +
      'The message keeps its id and place, gets `edited_at`, and is answered as a new one. `mentions` are those of the ' +
      'new text. Without `attachments` the message keeps its own. The limits of sending apply.',
    spec: 'extension',
    params: message,
    body: EditMessageBody,
    responses: ok(data(MessageData), 'The edited message.'),
    errors: [
      'content_type_not_allowed',
      'mention_invalid',
      'attachment_invalid',
      'message_not_editable',
      'message_not_latest',
      'turn_queue_full',
      'token_limit_reached',
    ],
  }),
  defineRoute({
    operationId: 'regenerateMessage',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/messages/{id}/regenerate',
    auth: 'user',
    tag: 'messages',
    summary: 'Regenerate an answer to the newest message of the user',
    description:
      'The answer, which may have failed or been stopped, is deleted with the tool lines, cards and notes of its turn, ' +
      'with `message.deleted` for each. The same agent is asked again; its new answer arrives over the socket. The ' +
      'limits of sending apply.',
    spec: 'extension',
    params: message,
    responses: ok(data(MessageData), 'The message of the user that is answered again.'),
    errors: ['message_not_an_answer', 'message_not_latest', 'turn_running', 'turn_queue_full', 'token_limit_reached'],
  }),
  defineRoute({
    operationId: 'chooseAction',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/messages/{id}/action',
    auth: 'user',
    tag: 'messages',
    summary: 'Chooses an action of a card, once',
    description:
      'The choice is also a message of the user, with the label of the action as its text, and the agent replies to it. ' +
      'Clients receive it as `message.new`, like any other message.',
    spec: 'orchestrator §4.4',
    params: message,
    body: z.object({ action_id: z.string().min(1).max(128) }).meta({ id: 'ChooseActionBody' }),
    responses: ok(data(MessageData)),
    errors: ['action_not_found', 'action_already_chosen', 'turn_queue_full', 'token_limit_reached'],
  }),
  defineRoute({
    operationId: 'stopMessage',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/messages/{id}/stop',
    auth: 'user',
    tag: 'messages',
    summary: 'Stop a reply, named by itself, or all replies to a message, named by the message',
    spec: 'extension',
    params: message,
    responses: noContent,
    errors: ['turn_not_running'],
  }),
] as const;
