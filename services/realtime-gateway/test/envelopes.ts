import type { BusEnvelope, ServerEventPayload } from '@uswarm/contract';

export const WORKSPACE = '01890000-0000-7000-8000-000000000001';
export const OTHER_WORKSPACE = '01890000-0000-7000-8000-000000000002';
export const CONVERSATION = '01890000-0000-7000-8000-0000000000c1';
export const AGENT = '01890000-0000-7000-8000-0000000000a1';
export const EPOCH = 'e1';
export const MESSAGE = '01890000-0000-7000-8000-0000000000e1';

const header = { v: 2, epoch: EPOCH, at: '2026-11-21T00:00:00.000Z' } as const;
const durable = (seq: number, workspaceId = WORKSPACE) =>
  ({ ...header, kind: 'durable', workspace_id: workspaceId, seq }) as const;
const ephemeral = (after: number) =>
  ({ ...header, kind: 'ephemeral', workspace_id: WORKSPACE, after_seq: after }) as const;

export type DurableEnvelope = Extract<BusEnvelope, { kind: 'durable' }>;

/** Event for a deleted subject. */
export const skip = (seq: number): BusEnvelope => ({ ...header, kind: 'skip', workspace_id: WORKSPACE, seq });

export function messageNew(seq: number, workspaceId = WORKSPACE): DurableEnvelope {
  return {
    ...durable(seq, workspaceId),
    event: 'message.new',
    subject_id: MESSAGE,
    payload: {
      workspace_id: workspaceId,
      seq,
      message: {
        id: MESSAGE,
        conversation_id: CONVERSATION,
        role: 'user',
        content: { type: 'text', text: `message ${seq}` },
        status: 'delivered',
        extended_status: 'sent',
        created_at: '2026-11-21T00:00:00.000Z',
        updated_at: '2026-11-21T00:00:00.000Z',
        position: `${String(seq).padStart(16, '0')}b`,
        error: null,
        edited_at: null,
        local_id: null,
        agent: null,
        attachments: [],
        mentions: [],
      },
    },
  };
}

export function messageDeleted(seq: number, messageId = MESSAGE): DurableEnvelope {
  const payload = { message_id: messageId, conversation_id: CONVERSATION, workspace_id: WORKSPACE, seq };
  return { ...durable(seq), event: 'message.deleted', subject_id: messageId, payload };
}

export function conversationDeleted(seq: number): DurableEnvelope {
  const payload = { conversation_id: CONVERSATION, workspace_id: WORKSPACE, seq };
  return { ...durable(seq), event: 'conversation.deleted', subject_id: CONVERSATION, payload };
}

export function messageDone(seq: number, messageId = MESSAGE): DurableEnvelope {
  const payload = {
    message_id: messageId,
    conversation_id: CONVERSATION,
    agent_id: AGENT,
    error: null,
    status: 'delivered',
  } as const;
  return {
    ...durable(seq),
    event: 'message.done',
    subject_id: messageId,
    payload: { workspace_id: WORKSPACE, seq, ...payload },
  };
}

export function chunk(
  after: number,
  fields: Partial<
    Pick<ServerEventPayload<'message.chunk'>, 'message_id' | 'generation' | 'chunk_seq' | 'chunk' | 'offset'>
  > = {},
): BusEnvelope {
  return {
    ...ephemeral(after),
    event: 'message.chunk',
    payload: {
      workspace_id: WORKSPACE,
      message_id: MESSAGE,
      conversation_id: CONVERSATION,
      agent_id: AGENT,
      chunk: 'text',
      chunk_seq: 1,
      generation: 1,
      ...fields,
    },
  };
}

/** An ephemeral event; `tool` identifies it in assertions. */
export function agentTool(after: number, tool = 'web_search_tool'): BusEnvelope {
  return {
    ...ephemeral(after),
    event: 'agent.tool',
    payload: { workspace_id: WORKSPACE, agent_id: AGENT, conversation_id: CONVERSATION, tool, status: 'running' },
  };
}

export function agentStatus(after: number, status: string, expiresInMs?: number): BusEnvelope {
  const expiry = expiresInMs === undefined ? {} : { expires_in_ms: expiresInMs };
  const payload = { workspace_id: WORKSPACE, agent_id: AGENT, conversation_id: CONVERSATION, status, ...expiry };
  return { ...ephemeral(after), event: 'agent.status', payload };
}
