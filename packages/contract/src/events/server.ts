import { z } from 'zod';
import { AgentStatus, DelegationStatus } from '../enums.js';
import { ErrorCode } from '../errors.js';
import { Conversation } from '../resources/conversation.js';
import { MessageData } from '../resources/message.js';
import { MessageError } from '../resources/message-error.js';
import { Epoch, Id, Rev } from '../resources/primitives.js';
import { Workspace } from '../resources/workspace.js';
import { SessionEndingCode } from './sessions.js';
import { AgentState, StreamState } from './states.js';

/** Events to clients. */

/** Additional fields of durable events: the sequence number in the workspace. On a socket it may jump. */
const durable = { workspace_id: Id, seq: z.int().positive() };

const ConversationChange = z
  .strictObject({ rev: Rev, title: z.string(), unread_count: z.int().nonnegative() })
  .meta({ id: 'ConversationChange' });

const WorkspaceChange = z
  .strictObject({ rev: Rev, unread_count: z.int().nonnegative() })
  .meta({ id: 'WorkspaceChange' });

/** Additional field of ephemeral events of a workspace. */
const ephemeral = { workspace_id: Id };

/** Additional fields of events about messages: what the message changes in other resources. */
const changes = {
  conversation: ConversationChange.optional().meta({
    description: 'Replaces the fields of a copy of the conversation that has a lower `rev`.',
    'x-extension': true,
  }),
  workspace: WorkspaceChange.optional().meta({
    description: 'Replaces the fields of a copy of the workspace that has a lower `rev`.',
    'x-extension': true,
  }),
};

/** Additional fields of streamed text: a new generation restarts the text, `chunk_seq` starts at 1. */
const generation = z.int().positive();

/** What the ephemeral events of a workspace have shown so far. */
const WorkspaceState = z
  .strictObject({
    agents: z.array(AgentState).meta({ description: 'The agents whose status is not `online`.' }),
    streams: z.array(StreamState),
  })
  .meta({ id: 'WorkspaceState' });

export const SERVER_EVENTS = {
  'workspace.subscribed': {
    summary:
      'The result of `workspace.subscribe`. A workspace that is rejected with a retryable code, except `rate_limited`, is ' +
      'subscribed later from the same position, without another request: then this event follows again, with the result for ' +
      'this workspace. Until then it has no events. A later subscribe or unsubscribe of the client takes its place.',
    payload: z
      .strictObject({
        workspace_ids: z.array(Id),
        rejected: z.array(z.strictObject({ workspace_id: z.string(), code: ErrorCode })),
        last_seq: z.record(z.string(), z.int().nonnegative()),
        epoch: z.record(z.string(), Epoch).optional().meta({
          description: 'By workspace id: the history that `last_seq` belongs to. Send both as `epoch:seq` in `since`.',
          'x-extension': true,
        }),
        state: z.record(z.string(), WorkspaceState).optional().meta({
          description: 'By workspace id: what no stored event contains, and later events change.',
          'x-extension': true,
        }),
      })
      .meta({ id: 'WorkspaceSubscribed' }),
  },
  'message.new': {
    summary: 'A message was created. Choosing an action of a card also creates a user message.',
    payload: z.strictObject({ ...durable, message: MessageData, ...changes }).meta({ id: 'MessageNew' }),
  },
  'message.updated': {
    summary: 'A message changed.',
    payload: z.strictObject({ ...durable, message: MessageData, ...changes }).meta({ id: 'MessageUpdated' }),
  },
  'message.send.ack': {
    summary: 'A sent message is stored.',
    payload: z
      .strictObject({ local_id: z.string(), message_id: Id, status: z.literal('received') })
      .meta({ id: 'MessageSendAck' }),
  },
  'message.send.error': {
    summary: 'Sending a message failed, or its result is unknown; see `stored`.',
    payload: z
      .strictObject({
        local_id: z.string(),
        error: z.string(),
        code: ErrorCode,
        retryable: z.boolean(),
        request_id: z.string(),
        /** Extension: milliseconds after which the same event may succeed. */
        retry_after_ms: z.int().nonnegative().optional(),
        stored: z
          .enum(['no', 'unknown'])
          .optional()
          .meta({
            description:
              '`no`: nothing was stored and nothing will be. `unknown`: the message may be stored; no later message of this ' +
              'connection has a lower `seq`. The same event with the same `local_id` finds out: it stores ' +
              'the message only once.',
            'x-extension': true,
          }),
      })
      .meta({ id: 'MessageSendError' }),
  },
  'message.chunk': {
    summary: 'A streamed part of an agent reply.',
    payload: z
      .strictObject({
        ...ephemeral,
        message_id: Id,
        conversation_id: Id,
        agent_id: Id,
        chunk: z.string(),
        chunk_seq: z.int().positive(),
        generation,
        offset: z
          .int()
          .nonnegative()
          .optional()
          .meta({
            description:
              'The position of `chunk` in the streamed text in UTF-16 code units: the text of this generation becomes its first ' +
              '`offset` units and `chunk`. If the client has less text than `offset`, a part is missing; the final text ' +
              'arrives with `message.done`.',
            'x-extension': true,
          }),
      })
      .meta({ id: 'MessageChunk' }),
  },
  'message.done': {
    summary:
      'An agent reply is finished, and has a text; its final `message.updated` was sent before. A reply that waits without a text has no ' +
      'end: it has become the card or the delegation that it waits for.',
    payload: z
      .strictObject({
        ...durable,
        message_id: Id,
        conversation_id: Id,
        agent_id: Id,
        status: z.enum(['delivered', 'failed']),
        error: MessageError.nullable().meta({
          description: 'The reason of the failure, as in the message.',
          'x-extension': true,
        }),
        ...changes,
      })
      .meta({ id: 'MessageDone' }),
  },
  'message.deleted': {
    summary: 'A message was deleted permanently. Ignore later events about it, including `message.chunk`.',
    extension: true,
    payload: z.strictObject({ ...durable, conversation_id: Id, message_id: Id }).meta({ id: 'MessageDeleted' }),
  },
  'agent.tool': {
    summary:
      'An agent uses a tool. The `running` of a call is sent before its `done`, but a client that does not receive all events, ' +
      'such as one that subscribes in between, can receive `done` alone, or no `done`. Both can repeat after a failure of ' +
      'the service. The message of the call (`tool_status`, `delegation`) has its state.',
    payload: z
      .strictObject({
        ...ephemeral,
        agent_id: Id,
        conversation_id: Id,
        tool: z.string(),
        status: z.enum(['running', 'done']),
        query: z.string().optional(),
        outcome: z.enum(['completed', 'failed']).optional(),
      })
      .meta({ id: 'AgentToolEvent' }),
  },
  'agent.status': {
    summary: 'The status of an agent changed.',
    payload: z
      .strictObject({
        ...ephemeral,
        agent_id: Id,
        status: AgentStatus,
        conversation_id: Id.optional(),
        expires_in_ms: z.int().positive().optional().meta({
          description:
            'Milliseconds after which the status no longer applies unless it is sent again; the agent is then `online`. Absent if it has no end.',
          'x-extension': true,
        }),
      })
      .meta({ id: 'AgentStatusEvent' }),
  },
  'agent.delegation': {
    summary: 'A delegation started or ended; the message with `message_id` has its content.',
    payload: z
      .strictObject({ ...ephemeral, message_id: Id, conversation_id: Id, status: DelegationStatus })
      .meta({ id: 'AgentDelegationEvent' }),
  },
  'workspace.updated': {
    summary: 'The workspace or the state of its runtime changed.',
    extension: true,
    payload: z.strictObject({ ...durable, workspace: Workspace }).meta({ id: 'WorkspaceUpdated' }),
  },
  'workspace.position': {
    summary: 'All events of the workspace up to `seq` were sent, or need no change of the client.',
    extension: true,
    payload: z.strictObject({ workspace_id: Id, seq: z.int().nonnegative() }).meta({ id: 'WorkspacePosition' }),
  },
  'workspace.resync': {
    summary:
      'The server cannot send the events after the position of the client. No more events of the workspace follow: reload ' +
      'it after `in_ms`, and subscribe again.',
    extension: true,
    payload: z
      .strictObject({
        workspace_id: Id,
        last_seq: z.int().nonnegative(),
        epoch: Epoch,
        reason: z.enum(['too_old', 'too_far', 'diverged']).meta({
          description:
            '`too_old`: the events are no longer stored. `too_far`: too many events to send. `diverged`: the position belongs ' +
            'to another epoch, or is higher than the last sequence.',
        }),
        in_ms: z
          .int()
          .nonnegative()
          .meta({ description: 'Milliseconds to wait, so that not all clients reload together.' }),
      })
      .meta({ id: 'WorkspaceResync' }),
  },
  'workspace.new': {
    summary:
      'The user created a workspace. Sent to all sockets of the user, and may be lost; `GET /v1/workspaces` is authoritative.',
    extension: true,
    payload: z.strictObject({ workspace: Workspace }).meta({ id: 'WorkspaceNew' }),
  },
  'workspace.deleted': {
    summary:
      'The user deleted a workspace. Sent to all sockets of the user, and may be lost; `GET /v1/workspaces` is authoritative.',
    extension: true,
    payload: z.strictObject({ workspace_id: Id }).meta({ id: 'WorkspaceDeleted' }),
  },
  'session.ready': {
    summary:
      'The session of this socket. Sent after each connect and `session.renew`, and with a newer resume token later.',
    extension: true,
    payload: z
      .strictObject({
        session_id: Id.meta({ description: 'The same after a connect with its resume token.' }),
        resumed: z.boolean().meta({ description: 'Whether a resume token admitted this socket.' }),
        resume_token: z.string().meta({
          description:
            'Send the newest one as the `auth` entry `resume_token`, beside the credentials. It admits a reconnect for up to ' +
            '10 minutes, also while the service cannot verify credentials.',
        }),
        expires_in_ms: z.int().nonnegative().nullable().meta({
          description: 'Milliseconds until the credentials expire; null if they do not.',
        }),
        limits: z.strictObject({
          subscriptions: z.int().positive(),
          events_per_second: z.number().nonnegative().meta({ description: '0 means unlimited.' }),
          events_burst: z.int().positive(),
          events_queued: z.int().positive().meta({
            description:
              'Events that may wait for their answers. While the service is slow, further ones are answered `service_unavailable`.',
          }),
          refusals_per_second: z.number().nonnegative().meta({
            description:
              'Events that may be answered `rate_limited`. Above this rate and burst, the session ends with `rate_limited`.',
          }),
          refusals_burst: z.int().positive(),
          event_bytes: z.int().positive().meta({ description: 'UTF-8 bytes of the payload of an event, as JSON.' }),
          unread_bytes: z.int().positive(),
        }),
      })
      .meta({ id: 'SessionReady' }),
  },
  'session.renew.error': {
    summary: 'The new credentials were refused; the present ones remain valid until they expire.',
    extension: true,
    payload: z
      .strictObject({
        error: z.string(),
        code: ErrorCode,
        retryable: z.boolean(),
        request_id: z.string(),
        retry_after_ms: z.int().nonnegative().optional(),
      })
      .meta({ id: 'SessionRenewError' }),
  },
  'session.ending': {
    summary:
      'The server closes this connection after `in_ms`. With `reconnect` only the transport closes, and a client reconnects.',
    extension: true,
    payload: z
      .strictObject({
        code: SessionEndingCode,
        reconnect: z.boolean(),
        in_ms: z
          .int()
          .nonnegative()
          .meta({
            description:
              'Above 0 for `token_expired`, when `session.renew` within that time keeps the connection, and for `rate_limited`, ' +
              'when the connection closes after that time whatever the client does.',
          }),
      })
      .meta({ id: 'SessionEnding' }),
  },
  'conversation.new': {
    summary: 'A conversation was created.',
    extension: true,
    payload: z.strictObject({ ...durable, conversation: Conversation }).meta({ id: 'ConversationNew' }),
  },
  'conversation.updated': {
    summary: 'A conversation changed.',
    extension: true,
    payload: z.strictObject({ ...durable, conversation: Conversation }).meta({ id: 'ConversationUpdated' }),
  },
  'conversation.deleted': {
    summary: 'A conversation was deleted permanently.',
    extension: true,
    payload: z
      .strictObject({
        ...durable,
        conversation_id: Id,
        workspace: Workspace.optional().meta({
          description: 'The workspace without the conversation.',
          'x-extension': true,
        }),
      })
      .meta({ id: 'ConversationDeleted' }),
  },
} as const satisfies Record<string, { summary: string; payload: z.ZodObject; extension?: true }>;

export type ServerEventName = keyof typeof SERVER_EVENTS;
export type ServerEventPayload<Name extends ServerEventName> = z.output<(typeof SERVER_EVENTS)[Name]['payload']>;

/** The events with a `seq`, which are stored. */
export const DURABLE_EVENTS = [
  'message.new',
  'message.updated',
  'message.done',
  'message.deleted',
  'workspace.updated',
  'conversation.new',
  'conversation.updated',
  'conversation.deleted',
] as const satisfies readonly ServerEventName[];
export type DurableEventName = (typeof DURABLE_EVENTS)[number];

export const EPHEMERAL_EVENTS = [
  'message.chunk',
  'agent.tool',
  'agent.status',
  'agent.delegation',
] as const satisfies readonly ServerEventName[];
export type EphemeralEventName = (typeof EPHEMERAL_EVENTS)[number];
