import type { OutgoingEnvelope, ServerEventPayload } from '@uswarm/contract';

export const WORKSPACE = '01890000-0000-7000-8000-000000000001';
export const OTHER_WORKSPACE = '01890000-0000-7000-8000-000000000002';
export const CONVERSATION = '01890000-0000-7000-8000-0000000000c1';
/** A durable or an ephemeral envelope of this release. */
type EventEnvelope = Exclude<OutgoingEnvelope, { kind: 'skip' }>;

const HEADER = { v: 2, epoch: 'e0', at: '2026-11-24T12:00:00.000Z' } as const;
const AGENT = '01890000-0000-7000-8000-0000000000a1';
export const MESSAGE = '01890000-0000-7000-8000-0000000000e1';

export function messageNew(seq: number, workspaceId = WORKSPACE): EventEnvelope {
  return {
    ...HEADER,
    kind: 'durable',
    subject_id: MESSAGE,
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

export function messageDeleted(seq: number, messageId = MESSAGE): EventEnvelope {
  const payload = { message_id: messageId, conversation_id: CONVERSATION, workspace_id: WORKSPACE, seq };
  return {
    ...HEADER,
    kind: 'durable',
    subject_id: messageId,
    workspace_id: WORKSPACE,
    seq,
    event: 'message.deleted',
    payload,
  };
}

export function messageDone(seq: number, messageId = MESSAGE): EventEnvelope {
  const payload = {
    message_id: messageId,
    conversation_id: CONVERSATION,
    agent_id: AGENT,
    error: null,
    status: 'delivered',
  } as const;
  return {
    ...HEADER,
    kind: 'durable',
    subject_id: MESSAGE,
    workspace_id: WORKSPACE,
    seq,
    event: 'message.done',
    payload: { workspace_id: WORKSPACE, seq, ...payload },
  };
}

export function chunk(
  after: number,
  fields: Partial<Pick<ServerEventPayload<'message.chunk'>, 'message_id' | 'generation' | 'chunk_seq' | 'chunk'>> = {},
): EventEnvelope {
  return {
    ...HEADER,
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

/** The event `seq` of a deleted subject. */
export function skipped(seq: number): OutgoingEnvelope {
  return { ...HEADER, kind: 'skip', workspace_id: WORKSPACE, seq };
}

/** An ephemeral event; `tool` identifies it in assertions. */
export function agentTool(after: number, tool = 'web_search_tool'): EventEnvelope {
  return {
    ...HEADER,
    kind: 'ephemeral',
    workspace_id: WORKSPACE,
    after_seq: after,
    event: 'agent.tool',
    payload: { workspace_id: WORKSPACE, agent_id: AGENT, conversation_id: CONVERSATION, tool, status: 'running' },
  };
}
