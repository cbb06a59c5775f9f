import type { BusEnvelope, ServerEventPayload } from '@uswarm/contract';

export const WORKSPACE = '01890000-0000-7000-8000-000000000001';
export const OTHER_WORKSPACE = '01890000-0000-7000-8000-000000000002';
export const CONVERSATION = '01890000-0000-7000-8000-0000000000c1';
const AGENT = '01890000-0000-7000-8000-0000000000a1';
export const MESSAGE = '01890000-0000-7000-8000-0000000000e1';

export function messageNew(seq: number, workspaceId = WORKSPACE): BusEnvelope {
  return {
    v: 1,
    kind: 'durable',
    workspace_id: workspaceId,
    seq,
    event: 'message.new',
    payload: {
      workspace_id: workspaceId,
      seq,
      message: {
        id: MESSAGE,
        conversation_id: CONVERSATION,
        role: 'user',
        content: { type: 'text', text: `message ${seq}` },
        status: 'sent',
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

export function messageDeleted(seq: number, messageId = MESSAGE): BusEnvelope {
  const payload = { message_id: messageId, conversation_id: CONVERSATION, workspace_id: WORKSPACE, seq };
  return { v: 1, kind: 'durable', workspace_id: WORKSPACE, seq, event: 'message.deleted', payload };
}

export function messageDone(seq: number, messageId = MESSAGE): BusEnvelope {
  const payload = {
    message_id: messageId,
    conversation_id: CONVERSATION,
    agent_id: AGENT,
    error: null,
    status: 'delivered',
  } as const;
  return {
    v: 1,
    kind: 'durable',
    workspace_id: WORKSPACE,
    seq,
    event: 'message.done',
    payload: { workspace_id: WORKSPACE, seq, ...payload },
  };
}

export function chunk(
  after: number,
  fields: Partial<Pick<ServerEventPayload<'message.chunk'>, 'message_id' | 'generation' | 'chunk_seq' | 'chunk'>> = {},
): BusEnvelope {
  return {
    v: 1,
    kind: 'ephemeral',
    workspace_id: WORKSPACE,
    after_seq: after,
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
    v: 1,
    kind: 'ephemeral',
    workspace_id: WORKSPACE,
    after_seq: after,
    event: 'agent.tool',
    payload: { workspace_id: WORKSPACE, agent_id: AGENT, conversation_id: CONVERSATION, tool, status: 'running' },
  };
}
