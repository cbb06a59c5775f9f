import { z } from 'zod';
import { ErrorCode } from '../errors.js';
import { Conversation } from '../resources/conversation.js';
import { Epoch, Id } from '../resources/primitives.js';
import { Workspace } from '../resources/workspace.js';
import { durable, type ServerEventDefinition } from './fields.js';
import { MESSAGE_EVENTS } from './message-events.js';
import { SESSION_EVENTS } from './session-events.js';
import { AgentState, StreamState } from './states.js';

/** Events to clients. */

const WorkspaceState = z
  .strictObject({
    agents: z.array(AgentState).meta({ description: 'The agents whose status is not `online`.' }),
    streams: z.array(StreamState).meta({ description: 'The replies that are being written.' }),
  })
  .meta({ id: 'WorkspaceState', description: 'What the ephemeral events of a workspace have shown so far.' });

const SubscriptionRejection = z
  .strictObject({
    workspace_id: z.string().meta({ description: 'The id as the client sent it.' }),
    code: ErrorCode.meta({ description: 'Why there are no events of it, as in errors of the REST API.' }),
  })
  .meta({ id: 'SubscriptionRejection', description: 'A workspace that could not be subscribed to.' });

const workspace = Workspace.meta({ description: 'The workspace as it is when the event is sent.' });
const conversation = Conversation.meta({ description: 'The conversation as it is when the event is sent.' });

export const SERVER_EVENTS = {
  'workspace.subscribed': {
    summary:
      'The result of `workspace.subscribe`. A workspace that is rejected with a retryable code, except `rate_limited`, is ' +
      'subscribed later from the same position, without another request: then this event follows again, with the result for ' +
      'this workspace. Until then it has no events. A later subscribe or unsubscribe of the client takes its place.',
    payload: z
      .strictObject({
        workspace_ids: z.array(Id).meta({ description: 'The workspaces whose events follow.' }),
        rejected: z.array(SubscriptionRejection).meta({ description: 'The others, each with its reason.' }),
        last_seq: z.record(z.string(), z.int().nonnegative()).meta({
          description: 'By workspace id: the sequence of the last durable event; 0 if there is none.',
        }),
        epoch: z.record(z.string(), Epoch).optional().meta({
          description: 'By workspace id: the history that `last_seq` belongs to. Send both as `epoch:seq` in `since`.',
          'x-extension': true,
        }),
        state: z.record(z.string(), WorkspaceState).optional().meta({
          description: 'By workspace id: what no stored event contains, and later events change.',
          'x-extension': true,
        }),
      })
      .meta({ id: 'WorkspaceSubscribed', description: 'Which subscriptions succeeded, and where they begin.' }),
  },
  ...MESSAGE_EVENTS,
  'workspace.updated': {
    summary: 'The workspace or the state of its runtime changed.',
    extension: true,
    payload: z
      .strictObject({ ...durable, workspace })
      .meta({ id: 'WorkspaceUpdated', description: 'The whole workspace after the change.' }),
  },
  'workspace.position': {
    summary: 'All events of the workspace up to `seq` were sent, or need no change of the client.',
    extension: true,
    payload: z
      .strictObject({
        workspace_id: Id.meta({ description: 'Which subscription is meant.' }),
        seq: z
          .int()
          .nonnegative()
          .meta({ description: 'The position that the client has reached; 0 before the first event.' }),
      })
      .meta({ id: 'WorkspacePosition', description: 'How far a client has received the events.' }),
  },
  'workspace.resync': {
    summary:
      'The server cannot send the events after the position of the client. No more events of the workspace follow: reload ' +
      'it after `in_ms`, and subscribe again.',
    extension: true,
    payload: z
      .strictObject({
        workspace_id: Id.meta({ description: 'What to reload.' }),
        last_seq: z.int().nonnegative().meta({ description: 'The sequence of the last durable event.' }),
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
      .meta({ id: 'WorkspaceResync', description: 'A subscription that ended because events are missing.' }),
  },
  'workspace.new': {
    summary:
      'The user created a workspace. Sent to all sockets of the user, and may be lost; `GET /v1/workspaces` is authoritative.',
    extension: true,
    payload: z
      .strictObject({ workspace })
      .meta({ id: 'WorkspaceNew', description: 'A workspace that did not exist before.' }),
  },
  'workspace.deleted': {
    summary:
      'The user deleted a workspace. Sent to all sockets of the user, and may be lost; `GET /v1/workspaces` is authoritative.',
    extension: true,
    payload: z
      .strictObject({ workspace_id: Id.meta({ description: 'What to remove from all lists.' }) })
      .meta({ id: 'WorkspaceDeleted', description: 'A workspace that no longer exists.' }),
  },
  ...SESSION_EVENTS,
  'conversation.new': {
    summary: 'A conversation was created.',
    extension: true,
    payload: z
      .strictObject({ ...durable, conversation })
      .meta({ id: 'ConversationNew', description: 'A conversation that did not exist before.' }),
  },
  'conversation.updated': {
    summary: 'A conversation changed.',
    extension: true,
    payload: z
      .strictObject({ ...durable, conversation })
      .meta({ id: 'ConversationUpdated', description: 'The whole conversation after the change.' }),
  },
  'conversation.deleted': {
    summary: 'A conversation was deleted permanently.',
    extension: true,
    payload: z
      .strictObject({
        ...durable,
        conversation_id: Id.meta({ description: 'What to remove from all lists.' }),
        workspace: Workspace.optional().meta({
          description: 'The workspace without the conversation.',
          'x-extension': true,
        }),
      })
      .meta({ id: 'ConversationDeleted', description: 'A conversation that no longer exists.' }),
  },
} as const satisfies Record<string, ServerEventDefinition>;

export type ServerEventName = keyof typeof SERVER_EVENTS;
export type ServerEventPayload<Name extends ServerEventName> = z.output<(typeof SERVER_EVENTS)[Name]['payload']>;

export const EPHEMERAL_EVENTS = [
  'message.chunk',
  'agent.tool',
  'agent.status',
  'agent.delegation',
] as const satisfies readonly ServerEventName[];
export type EphemeralEventName = (typeof EPHEMERAL_EVENTS)[number];
