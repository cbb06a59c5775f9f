import { z } from 'zod';
import { LIMITS } from '../limits.js';
import {
  Conversation,
  ConversationPage,
  CreateConversationBody,
  UpdateConversationBody,
} from '../resources/conversation.js';
import { MessageData, MessagePage, SendMessageBody } from '../resources/message.js';
import { data } from '../resources/primitives.js';
import { created, defineRoute, id, idempotencyKey, noContent, ok } from './define.js';
import { optionalPageQuery, pageQuery } from './pages.js';

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
    summary: 'Marks everything that was shown in the conversation until now as read',
    spec: 'orchestrator §4.4',
    params: conversation,
    responses: noContent,
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
    spec: 'orchestrator §4.4',
    params: conversation,
    query: pageQuery,
    responses: ok(MessagePage),
    errors: ['cursor_invalid'],
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
