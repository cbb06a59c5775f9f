import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { EditMessageBody, FormValue, MessageData, MessagePage, SendMessageBody } from '../resources/message.js';
import { data, STRICT } from '../resources/primitives.js';
import { created, defineRoute, id, noContent, ok, seenPosition } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';
import { messageListQuery, pageQuery } from './pages.js';

const workspace = { workspaceId: id('workspace_not_found') };
const conversation = { ...workspace, id: id('conversation_not_found') };
const message = { ...workspace, id: id('message_not_found') };

export const messageRoutes = [
  defineRoute({
    operationId: 'listMessages',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/messages',
    auth: 'user',
    scope: 'read',
    tag: 'messages',
    summary: 'List messages: `backward` newest first, `forward` oldest first',
    description:
      'With `direction=backward`, `prev_scroll_id` is set on every page that has messages: if `has_prev` is false, it ' +
      'returns messages that arrive later. `around`, `after` and `before` start at a message instead of a cursor; ' +
      'their pages are in the order of `direction`.',
    params: conversation,
    query: messageListQuery,
    headers: seenPosition,
    position: { of: 'workspace', parameter: 'workspaceId' },
    responses: ok(MessagePage),
    errors: ['cursor_invalid', 'message_not_found'],
    example: {
      params: examples.inConversation,
      query: { limit: 20, direction: 'backward' },
      answer: { data: [examples.listedMessage, ...examples.listedKinds], pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'searchMessages',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/messages/search',
    auth: 'user',
    scope: 'read',
    tag: 'messages',
    summary: 'Search messages that contain every word of `q`, newest first',
    description:
      'Finds words also within words, and ignores case, variants of punctuation and invisible characters. Pages are listed from new to old.',
    params: conversation,
    query: pageQuery.omit({ direction: true }).extend({
      q: z
        .string()
        .min(1)
        .max(LIMITS.searchText)
        .meta({
          description: `Up to ${LIMITS.searchWords} different words, separated by spaces; every character is matched literally.`,
        }),
    }),
    headers: seenPosition,
    position: { of: 'workspace', parameter: 'workspaceId' },
    responses: ok(MessagePage),
    errors: ['cursor_invalid', 'search_timeout'],
    example: {
      params: examples.inConversation,
      query: { q: 'list', limit: 20 },
      answer: { data: [examples.listedMessage], pagination: examples.lastPage },
    },
  }),
  defineRoute({
    operationId: 'sendMessage',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/conversations/{id}/messages',
    auth: 'user',
    scope: 'write',
    tag: 'messages',
    summary: 'Send a message; the reply arrives over the socket',
    description:
      'The response is the stored message. Agents reply one after the other, as `message.new`, `message.chunk` and `message.done`. An agent ' +
      'answers messages that wait for it together, with one reply to the last of them. With `local_id`, the same request can be sent again ' +
      'after a lost response.',
    params: conversation,
    body: SendMessageBody,
    responses: created(data(MessageData)),
    errors: [
      'content_type_not_allowed',
      'mention_invalid',
      'agent_deleted',
      'attachment_invalid',
      'local_id_reused',
      'turn_queue_full',
      'token_limit_reached',
    ],
    example: {
      params: examples.inConversation,
      body: {
        mention_and_attachment: {
          local_id: EXAMPLE.localId,
          content: { type: 'text', text: '@Researcher what is on my list?' },
          mentions: [{ agent_id: EXAMPLE.agentId, agent_name: 'Researcher', offset: 0, length: 11 }],
          attachments: [{ id: EXAMPLE.uploadId }],
        },
        text: { content: { type: 'text', text: 'Good morning!' } },
      },
      answer: { data: examples.sentMessage },
    },
  }),
  defineRoute({
    operationId: 'getMessage',
    method: 'get',
    path: '/v1/workspaces/{workspaceId}/messages/{id}',
    auth: 'user',
    scope: 'read',
    tag: 'messages',
    summary: 'Get a message with fresh attachment links',
    description: 'For example after a notification, or when the links of a copy have expired.',
    extension: true,
    params: message,
    position: { of: 'workspace', parameter: 'workspaceId' },
    responses: ok(data(MessageData)),
    example: { params: { ...examples.inWorkspace, id: EXAMPLE.messageId }, answer: { data: examples.listedMessage } },
  }),
  defineRoute({
    operationId: 'deleteMessage',
    method: 'delete',
    path: '/v1/workspaces/{workspaceId}/messages/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'messages',
    summary: 'Delete a message permanently',
    description:
      'Deletes any user or agent message with its attachments. Agents no longer see it. Its `local_id` remains used. ' +
      'Replies to a deleted message are kept. If the message is an unfinished reply (queued or running) or has one, ' +
      'the reply is cancelled first, and everything that it has written is deleted too. Each deletion sends ' +
      '`message.deleted`. Deleting a tool status, card or note of an unfinished reply fails with `turn_running`.',
    extension: true,
    params: message,
    responses: noContent,
    errors: ['turn_running'],
    example: { params: { ...examples.inWorkspace, id: EXAMPLE.messageId } },
  }),
  defineRoute({
    operationId: 'editMessage',
    method: 'patch',
    path: '/v1/workspaces/{workspaceId}/messages/{id}',
    auth: 'user',
    scope: 'write',
    tag: 'messages',
    summary: 'Edit the latest user message and run its turn again',
    description:
      'Only the latest user message of a conversation can be edited (`message_not_latest`). A queued or running reply ' +
      'is cancelled. All replies to the message are deleted, with `message.deleted` for each. The message keeps its ' +
      'id and position, gets `edited_at`, and starts a new turn. `mentions` refer to the new text. Without ' +
      '`attachments` the message keeps its attachments. The limits of sending apply.',
    extension: true,
    params: message,
    body: EditMessageBody,
    responses: ok(data(MessageData), 'The edited message.'),
    errors: [
      'content_type_not_allowed',
      'mention_invalid',
      'agent_deleted',
      'attachment_invalid',
      'message_not_editable',
      'message_not_latest',
      'turn_queue_full',
      'token_limit_reached',
    ],
    example: {
      params: { ...examples.inWorkspace, id: EXAMPLE.messageId },
      body: {
        text: {
          content: { type: 'text', text: '@Researcher what is still on my list?' },
          mentions: [{ agent_id: EXAMPLE.agentId, agent_name: 'Researcher', offset: 0, length: 11 }],
        },
        without_attachments: { content: { type: 'text', text: 'Good morning!' }, attachments: [] },
      },
      answer: { data: examples.editedMessage },
    },
  }),
  defineRoute({
    operationId: 'regenerateMessage',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/messages/{id}/regenerate',
    auth: 'user',
    scope: 'write',
    tag: 'messages',
    summary: 'Regenerate a reply to the latest user message',
    description:
      'The reply, which may have failed or been stopped, is deleted with the tool statuses, cards and notes of its ' +
      'turn, with `message.deleted` for each. The same agent runs a new turn; its reply arrives over the socket. The ' +
      'limits of sending apply.',
    extension: true,
    params: message,
    responses: ok(data(MessageData), 'The user message whose turn runs again.'),
    errors: [
      'message_not_an_answer',
      'message_not_latest',
      'turn_running',
      'agent_deleted',
      'turn_queue_full',
      'token_limit_reached',
    ],
    example: { params: { ...examples.inWorkspace, id: EXAMPLE.answerId }, answer: { data: examples.sentMessage } },
  }),
  defineRoute({
    operationId: 'chooseAction',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/messages/{id}/action',
    auth: 'user',
    scope: 'write',
    tag: 'messages',
    summary: 'Choose an action of a card (once)',
    description:
      'The choice creates a user message with the label of the action as its text, and the agent replies to it. ' +
      'Clients receive it as `message.new`, like any other message. On a card that asks for the approval of a call, the ' +
      'choice lets the agent continue. On a card of an answer that has used its token budget, the action `continue` ' +
      'grants the budget again, and `stop` ends the answer without a further reply. On a card with a `form`, the values go to ' +
      'the app that asked for them, and to no agent.',
    params: message,
    body: z
      .strictObject({
        action_id: z.string().min(1).max(128).meta({ description: 'The `id` of a button of the card.' }),
        values: z.record(z.string().max(200), FormValue).optional().meta({
          description: 'With `submit` on a card that has a `form`: what the user entered, by field name.',
          'x-extension': true,
        }),
      })
      .meta({ id: 'ChooseActionBody', description: `Which button the user chose. ${STRICT}` }),
    responses: ok(data(MessageData)),
    errors: [
      'action_not_found',
      'action_already_chosen',
      'approval_closed',
      'agent_deleted',
      'turn_queue_full',
      'token_limit_reached',
    ],
    example: {
      params: { ...examples.inWorkspace, id: EXAMPLE.cardId },
      body: { yes: { action_id: 'yes' } },
      answer: { data: examples.chosenCard },
    },
  }),
] as const;
