import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { LocalId, MessageDraft } from '../resources/message.js';

/** Events from clients. */

const workspaceIds = z.array(z.string().max(64)).max(LIMITS.subscriptionsPerSocket);

export const WorkspaceSubscribe = z.object({ workspace_ids: workspaceIds }).meta({ id: 'WorkspaceSubscribe' });

export const WorkspaceUnsubscribe = z.object({ workspace_ids: workspaceIds }).meta({ id: 'WorkspaceUnsubscribe' });

export const MessageSend = MessageDraft.extend({
  workspace_id: z.string().max(64),
  conversation_id: z.string().max(64),
  local_id: LocalId,
}).meta({ id: 'MessageSend' });
export type MessageSend = z.output<typeof MessageSend>;

export const CLIENT_EVENTS = {
  'workspace.subscribe': { payload: WorkspaceSubscribe, summary: 'Subscribe to the events of workspaces.' },
  'workspace.unsubscribe': { payload: WorkspaceUnsubscribe, summary: 'Unsubscribe from the events of workspaces.' },
  'message.send': {
    payload: MessageSend,
    summary: 'Send a message; the reply is `message.send.ack` or `message.send.error`.',
  },
} as const;
export type ClientEventName = keyof typeof CLIENT_EVENTS;
