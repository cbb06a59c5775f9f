import { type MessageData, type MessageSend, type Workspace, workspaceExample } from '@uswarm/contract';
import type { Socket } from 'socket.io';

export const id = (last: number) => `0192d3a4-0000-7000-8000-${String(last).padStart(12, '0')}`;
export const at = '2026-11-21T10:00:00.000Z';
export const workspaceId = id(1);
export const conversationId = id(2);
const agentId = id(3);
export const messageId = id(10);
const agentMessageId = id(11);
export const idToken = `h.${Buffer.from(JSON.stringify({ exp: 9_999_999_999 })).toString('base64url')}.s`;
export const agent = { id: agentId, name: 'Manager', role: 'manager', slug: 'manager', avatar: '' } as const;

export function workspace(status: Workspace['runtime']['status'], phase: Workspace['runtime']['phase']): Workspace {
  const runtime = { ...workspaceExample.runtime, status, phase, total_agents: 1, last_message_preview: null };
  return { ...workspaceExample, id: workspaceId, name: 'Mine', created_at: at, updated_at: at, runtime };
}
export const ready = workspace('ready', 'Ready');

export function message(parts: Partial<MessageData>): MessageData {
  const base = {
    id: agentMessageId,
    conversation_id: conversationId,
    role: 'agent',
    content: { type: 'loading' },
    status: 'pending',
  } as const;
  const rest = {
    edited_at: null,
    local_id: null,
    attachments: [],
    mentions: [],
    created_at: at,
    updated_at: at,
    position: '0000000000000001b',
    error: null,
  } as const;
  const exact = { extended_status: parts.status ?? 'pending' };
  return { ...base, ...rest, ...exact, agent: { ...agent, status: 'busy' }, attachments: [], mentions: [], ...parts };
}

/** Runs on the fake server for each user message. */
export type Script = (context: ScriptContext) => void;

export interface ScriptContext {
  sent: MessageSend;
  emit: (name: string, payload: object) => void;
  socket: Socket;
  /** Sets the messages that the list route returns, newest first. */
  store: (messages: MessageData[]) => void;
}

export const textContent = (text: string) => ({ type: 'text', text }) as const;
export const envelope = { workspace_id: workspaceId, seq: 1 };

export function liveMessage(parts: Partial<MessageData>) {
  return { ...envelope, message: message(parts) };
}

export function begin({ emit, sent }: ScriptContext, replyId = agentMessageId): void {
  emit('message.send.ack', { local_id: sent.local_id, message_id: messageId, status: 'received' });
  emit('agent.status', { workspace_id: workspaceId, agent_id: agentId, status: 'thinking' });
  emit('message.new', liveMessage({ id: replyId }));
}

export function stream({ emit }: ScriptContext, chunks: string[], replyId = agentMessageId): void {
  const ids = {
    workspace_id: workspaceId,
    message_id: replyId,
    conversation_id: conversationId,
    agent_id: agentId,
  };
  chunks.forEach((chunk, index) => emit('message.chunk', { ...ids, chunk, chunk_seq: index + 1, generation: 1 }));
}

export function finish(
  { emit }: Pick<ScriptContext, 'emit'>,
  text: string,
  status: 'delivered' | 'failed',
  replyId = agentMessageId,
): void {
  emit('message.updated', liveMessage({ id: replyId, content: textContent(text), status }));
  emit('message.done', {
    ...envelope,
    message_id: replyId,
    conversation_id: conversationId,
    agent_id: agentId,
    status,
    error: null,
  });
}

export const answerWith =
  (text: string, replyId?: string): Script =>
  (context) => {
    begin(context, replyId);
    stream(context, [text.slice(0, 3), text.slice(3)], replyId);
    finish(context, text, 'delivered', replyId);
  };
