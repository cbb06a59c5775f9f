import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { LocalId, SentDraft } from '../resources/message.js';
import { EpochSeq } from '../resources/primitives.js';
import { Credentials } from './sessions.js';

/** Events from clients. */

const workspaceIds = z
  .array(z.string().max(64))
  .max(LIMITS.subscriptionsPerSocket)
  .meta({
    description: `Ids of workspaces, up to ${LIMITS.subscriptionsPerSocket}.`,
  });

/** The last seq that the client has applied. */
const appliedSeq = z.int().nonnegative();

const sinceByWorkspace = z.record(z.string().max(64), z.union([appliedSeq, EpochSeq])).meta({
  description:
    'By workspace id: the position of the client, as `seq` or `epoch:seq`. The events after it follow `workspace.subscribed` in ' +
    'order, then `workspace.position`. A `seq` without epoch does not show whether the database has lost writes since.',
  'x-extension': true,
});

export const WorkspaceSubscribe = z
  .object({ workspace_ids: workspaceIds, since: sinceByWorkspace.optional() })
  .meta({ id: 'WorkspaceSubscribe', description: 'Which events to receive, and from where on.' });

export const PositionReport = z
  .record(z.string().max(64), appliedSeq)
  .refine((seqs) => Object.keys(seqs).length <= LIMITS.subscriptionsPerSocket, 'too many workspaces')
  .meta({ id: 'PositionReport', description: 'By workspace id: the last `seq` that the device has applied.' });

export const WorkspaceUnsubscribe = z
  .object({ workspace_ids: workspaceIds })
  .meta({ id: 'WorkspaceUnsubscribe', description: 'Which events to receive no longer.' });

export const MessageSend = SentDraft.extend({
  workspace_id: z.string().max(64).meta({ description: 'A workspace of the user; no subscription is needed.' }),
  conversation_id: z.string().max(64).meta({ description: 'Where to add the message.' }),
  local_id: LocalId,
}).meta({ id: 'MessageSend', description: 'A message to send. Sending it again with the same `local_id` is safe.' });
export type MessageSend = z.output<typeof MessageSend>;

export const SessionRenew = z
  .object({ credentials: Credentials.meta({ description: 'New credentials of the user of this session.' }) })
  .meta({ id: 'SessionRenew', description: 'Credentials that replace those of the handshake.' });

export const CLIENT_EVENTS = {
  'workspace.subscribe': { payload: WorkspaceSubscribe, summary: 'Subscribe to the events of workspaces.' },
  'workspace.unsubscribe': { payload: WorkspaceUnsubscribe, summary: 'Unsubscribe from the events of workspaces.' },
  'message.send': {
    payload: MessageSend,
    summary: 'Send a message; the reply is `message.send.ack` or `message.send.error`.',
  },
  position: {
    payload: PositionReport,
    summary:
      'Report the last sequence that the device has applied, by workspace id. Optional. It prevents notifications about messages ' +
      `that the device has shown, if it is sent at least every ${LIMITS.positions.deviceMs / 1_000} seconds while sequences arrive. Needs ` +
      '`X-Device-ID` in the handshake: without it, the report has no effect.',
    extension: true,
  },
  'session.renew': {
    payload: SessionRenew,
    summary: 'Replace the credentials of this socket by new ones of the same user, without a new connection.',
    extension: true,
  },
} as const satisfies Record<string, { payload: z.ZodType; summary: string; extension?: true }>;
export type ClientEventName = keyof typeof CLIENT_EVENTS;
