import type { z } from 'zod';
import type { CLIENT_EVENTS, ClientEventName } from '../events/client.js';
import type { ServerEventName, ServerEventPayload } from '../events/server.js';
import type { MessageData } from '../resources/message.js';
import * as examples from '../routes/examples.js';
import { EXAMPLE } from '../routes/examples.js';

/** An example payload per event. A test checks them against the schemas. */

type ClientExamples = { [Name in ClientEventName]: z.input<(typeof CLIENT_EVENTS)[Name]['payload']> };
type ServerExamples = { [Name in ServerEventName]: ServerEventPayload<Name> };

const { workspaceId: workspace_id, conversationId: conversation_id, agentId: agent_id } = EXAMPLE;
const belonging = { turn_id: EXAMPLE.turnId, in_reply_to: EXAMPLE.messageId };
const reply = { message_id: EXAMPLE.replyId, conversation_id, agent_id, ...belonging };
const epoch = '5f0c6e1b9a2d4c37';
const requestId = '0b9f7c52-6a44-4f9c-9d1c-0c6b7a0f3d11';
const SESSION_ID = '01931a5e-7c00-7000-8000-00000000000e';

const answer = examples.listedKinds.find(({ content }) => content.type === 'text') as MessageData;
const answered: MessageData = { ...answer, id: EXAMPLE.replyId, extended_status: 'delivered', ...belonging };

const CLIENT_EXAMPLES: ClientExamples = {
  'workspace.subscribe': { workspace_ids: [workspace_id], since: { [workspace_id]: `${epoch}:41` } },
  'workspace.unsubscribe': { workspace_ids: [workspace_id] },
  'message.send': {
    workspace_id,
    conversation_id,
    local_id: EXAMPLE.localId,
    content: { type: 'text', text: '@Researcher what is on my list?' },
    mentions: [{ agent_id, agent_name: 'Researcher', offset: 0, length: 11 }],
    attachments: [{ id: EXAMPLE.uploadId }],
  },
  position: { [workspace_id]: 72 },
  'session.renew': { credentials: { 'x-token': 'eyJhbGciOiJSUzI1NiIsImtpZCI6IjEifQ.e30.c2lnbmF0dXJl' } },
};

const SERVER_EXAMPLES: ServerExamples = {
  'workspace.subscribed': {
    workspace_ids: [workspace_id],
    rejected: [{ workspace_id: '01931a5e-7c00-7000-8000-0000000000ff', code: 'workspace_not_found' }],
    last_seq: { [workspace_id]: 71 },
    epoch: { [workspace_id]: epoch },
    state: {
      [workspace_id]: {
        agents: [{ agent_id, status: 'writing', conversation_id, until_ms: 25_000 }],
        streams: [{ ...reply, generation: 1, chunk_seq: 2, text: 'Tea, bread' }],
      },
    },
  },
  'message.new': {
    workspace_id,
    seq: 65,
    message: examples.sentMessage,
    conversation: { rev: 65, title: 'My workspace', unread_count: 0 },
    workspace: { rev: 65, unread_count: 0 },
  },
  'message.updated': { workspace_id, seq: 71, message: { ...answered, rev: 71 }, answer_ended: true },
  'message.send.ack': { local_id: EXAMPLE.localId, message_id: EXAMPLE.messageId, status: 'received' },
  'message.send.error': {
    local_id: EXAMPLE.localId,
    error: 'Too many requests.',
    code: 'rate_limited',
    retryable: true,
    request_id: requestId,
    retry_after_ms: 1_200,
    stored: 'no',
  },
  'message.chunk': { workspace_id, ...reply, chunk: ' and marmalade.', chunk_seq: 3, generation: 1, offset: 10 },
  'message.done': {
    workspace_id,
    seq: 72,
    ...reply,
    status: 'delivered',
    error: null,
    answer_ended: true,
    conversation: { rev: 72, title: 'My workspace', unread_count: 1 },
    workspace: { rev: 72, unread_count: 1 },
  },
  'message.deleted': { workspace_id, seq: 73, conversation_id, message_id: EXAMPLE.messageId },
  'agent.tool': {
    workspace_id,
    agent_id,
    conversation_id,
    tool: 'web_search_tool',
    status: 'running',
    query: 'green tea',
    ...belonging,
  },
  'agent.status': { workspace_id, agent_id, status: 'thinking', conversation_id, expires_in_ms: 30_000 },
  'agent.delegation': { workspace_id, message_id: EXAMPLE.replyId, conversation_id, status: 'running', ...belonging },
  'workspace.updated': { workspace_id, seq: 70, workspace: examples.workspace },
  'workspace.position': { workspace_id, seq: 72 },
  'workspace.resync': { workspace_id, last_seq: 72, epoch, reason: 'too_old', in_ms: 1_500 },
  'workspace.new': { workspace: examples.workspace },
  'workspace.deleted': { workspace_id },
  'session.ready': {
    session_id: SESSION_ID,
    resumed: false,
    resume_token: 'eyJhbGciOiJkaXIiLCJlbmMiOiJBMjU2R0NNIn0..aXY.Y2lwaGVydGV4dA.dGFn',
    expires_in_ms: 3_540_000,
    limits: {
      subscriptions: 50,
      events_per_second: 20,
      events_burst: 40,
      events_queued: 64,
      refusals_per_second: 20,
      refusals_burst: 1_000,
      event_bytes: 262_144,
      unread_bytes: 1_048_576,
    },
  },
  'session.renew.error': {
    error: 'The credentials belong to another user than the session.',
    code: 'session_user_mismatch',
    retryable: false,
    request_id: requestId,
  },
  'session.ending': { code: 'token_expired', reconnect: true, in_ms: 60_000 },
  'conversation.new': { workspace_id, seq: 64, conversation: { ...examples.agentConversation, rev: 64 } },
  'conversation.updated': { workspace_id, seq: 74, conversation: { ...examples.conversation, rev: 74 } },
  'conversation.deleted': { workspace_id, seq: 75, conversation_id, workspace: { ...examples.workspace, rev: 75 } },
};

export const EVENT_EXAMPLES: Readonly<Record<string, unknown>> = { ...CLIENT_EXAMPLES, ...SERVER_EXAMPLES };
