import {
  Conversation,
  ConversationPage,
  CreateConversationBody,
  MarkReadBody,
  UpdateConversationBody,
} from '../resources/conversation.js';
import { LIMITS } from '../limits.js';
import { data } from '../resources/primitives.js';
import { created, defineRoute, id, idempotencyKey, noContent, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';
import { optionalPageQuery } from './pages.js';

const workspace = { workspaceId: id('workspace_not_found') };
const conversation = { ...workspace, id: id('conversation_not_found') };

export const conversationRoutes = [
  defineRoute({
    operationId: 'listConversations',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations',
    auth: 'user',
    scope: 'read',
    tag: 'conversations',
    summary: 'List conversations, most recently active first',
    description:
      'Each has its last message and the number of unread ones. Without `limit`, all that fit into one response.',
    params: workspace,
    query: optionalPageQuery,
    position: { of: 'workspace', parameter: 'workspaceId' },
    responses: ok(ConversationPage),
    errors: ['cursor_invalid'],
    example: {
      params: examples.inWorkspace,
      query: { limit: 20 },
      answer: { data: [examples.conversation], pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'createConversation',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/conversations',
    auth: 'user',
    scope: 'write',
    tag: 'conversations',
    summary: 'Create a conversation with the swarm or with one agent',
    description: `A workspace has up to ${LIMITS.conversationsPerWorkspace} conversations. Clients receive \`conversation.new\`.`,
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
    example: {
      params: examples.inWorkspace,
      body: { agent: { type: 'agent', agent_id: EXAMPLE.agentId }, swarm: { type: 'swarm', agent_id: null } },
      answer: { data: examples.agentConversation },
    },
  }),
  defineRoute({
    operationId: 'getConversation',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}',
    auth: 'user',
    scope: 'read',
    tag: 'conversations',
    summary: 'Get a conversation',
    description: 'The same as in the list, with its last message.',
    params: conversation,
    position: { of: 'workspace', parameter: 'workspaceId' },
    responses: ok(data(Conversation)),
    example: { params: examples.inConversation, answer: { data: examples.conversation } },
  }),
  defineRoute({
    operationId: 'updateConversation',
    method: 'patch',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'conversations',
    summary: 'Set or reset the title of a conversation, or mute its notifications',
    description:
      'Clients receive `conversation.updated`. Without a title, the first words of the first message are shown.',
    extension: true,
    params: conversation,
    body: UpdateConversationBody,
    responses: ok(data(Conversation)),
    example: {
      params: examples.inConversation,
      body: { title: { title: 'Groceries' }, reset: { title: null }, mute: { muted: true } },
      answer: { data: { ...examples.conversation, title: 'Groceries' } },
    },
  }),
  defineRoute({
    operationId: 'deleteConversation',
    method: 'delete',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'conversations',
    summary: 'Delete a conversation permanently, with its messages and attachments; replies in progress are cancelled',
    description:
      'Clients receive `conversation.deleted`. Memories and artifacts that agents have saved meanwhile remain.',
    params: conversation,
    responses: noContent,
    example: { params: examples.inConversation },
  }),
  defineRoute({
    operationId: 'markConversationRead',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/read',
    auth: 'user',
    scope: 'write',
    tag: 'conversations',
    summary: 'Mark the conversation as read, entirely or up to a message',
    description:
      'Without a body, all current messages are marked as read. With `message_id`, all messages up to and including ' +
      'that message are. The read position never moves back. Other devices receive `conversation.updated` and, if the ' +
      'unread count changes, `workspace.updated`.',
    params: conversation,
    body: MarkReadBody,
    bodyOptional: true,
    responses: noContent,
    errors: ['message_not_found'],
    example: {
      params: examples.inConversation,
      body: { everything: {}, up_to_a_message: { message_id: EXAMPLE.messageId } },
    },
  }),
] as const;
