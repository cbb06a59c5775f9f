import { describe, expect, it } from '@jest/globals';
import type { ListedMessage, MessageContent, MessageStatus } from '@uswarm/contract';
import { textOf } from './chunk-reducer.js';
import { applyEvent, applyHistory, newTurn, type Turn, type ServerEvent } from './turn.js';

const id = (last: number) => `0192d3a4-0000-7000-8000-${String(last).padStart(12, '0')}`;
const conversation = id(1);
const workspace = id(2);
const question = id(10);
const answer = id(11);
const agent = { id: id(20), name: 'Manager', role: 'manager', slug: 'manager', avatar: '', status: 'busy' } as const;
const at = '2026-11-21T10:00:00.000Z';

interface MessageParts {
  id: string;
  content: MessageContent;
  role?: 'user' | 'agent';
  status?: MessageStatus;
  conversation_id?: string;
  local_id?: string | null;
}

function message({
  role = 'agent',
  status = 'pending',
  conversation_id = conversation,
  local_id = null,
  ...rest
}: MessageParts) {
  const sender = role === 'agent' ? agent : null;
  return {
    ...rest,
    role,
    status,
    conversation_id,
    local_id,
    agent: sender,
    attachments: [],
    mentions: [],
    created_at: at,
    updated_at: at,
    position: '0000000000000001b',
    error: null,
    edited_at: null,
  };
}

const listed = (parts: MessageParts): ListedMessage => {
  const { status, ...rest } = message(parts);
  return { ...rest, status: 'pending', extended_status: status };
};

const loading = { type: 'loading' } as const;
const text = (value: string) => ({ type: 'text', text: value }) as const;
const envelope = { workspace_id: workspace, seq: 1 };
const created = (parts: MessageParts): ServerEvent => ({
  name: 'message.new',
  payload: { ...envelope, message: message(parts) },
});
const updated = (parts: MessageParts): ServerEvent => ({
  name: 'message.updated',
  payload: { ...envelope, message: message(parts) },
});
const chunk = (message_id: string, value: string, chunk_seq = 1): ServerEvent => ({
  name: 'message.chunk',
  payload: {
    workspace_id: workspace,
    message_id,
    conversation_id: conversation,
    agent_id: agent.id,
    chunk: value,
    chunk_seq,
    generation: 1,
  },
});
const done = (message_id: string, status: 'delivered' | 'failed'): ServerEvent => ({
  name: 'message.done',
  payload: { ...envelope, message_id, conversation_id: conversation, agent_id: agent.id, status, error: null },
});
const turnAfter = (...events: ServerEvent[]): Turn => events.reduce(applyEvent, newTurn(conversation, 'local-1'));

describe('a turn that events update', () => {
  it('ends with the final text after the acknowledgement and the chunks', () => {
    const turn = turnAfter(
      { name: 'message.send.ack', payload: { local_id: 'local-1', message_id: question, status: 'received' } },
      created({ id: question, role: 'user', content: text('Why?'), local_id: 'local-1' }),
      created({ id: answer, content: loading }),
      chunk(answer, 'Be', 1),
      chunk(answer, 'cause', 2),
      updated({ id: answer, content: text('Because.'), status: 'delivered' }),
      done(answer, 'delivered'),
    );
    expect(turn).toMatchObject({
      messageId: question,
      agentMessageId: answer,
      agentId: agent.id,
      text: 'Because.',
      outcome: 'delivered',
    });
    expect(textOf(turn.streamed)).toBe('Because');
  });

  it('ignores the answer of another running turn', () => {
    const other = id(99);
    const turn = turnAfter(
      chunk(other, 'no'),
      done(other, 'failed'),
      created({ id: answer, content: loading }),
      chunk(other, 'no'),
    );
    expect(turn).toMatchObject({ agentMessageId: answer });
    expect(turn.outcome).toBeUndefined();
    expect(textOf(turn.streamed)).toBe('');
  });

  it('ignores messages of other conversations, users and tools', () => {
    const tool = { type: 'tool_status', tool: 't', description: '', state: 'running' } as const;
    const turn = turnAfter(
      created({ id: id(30), content: loading, conversation_id: id(31) }),
      created({ id: id(32), content: text('mine'), role: 'user' }),
      created({ id: id(33), content: tool }),
    );
    expect(turn.agentMessageId).toBeUndefined();
  });

  it.each([
    ['answer', answer],
    ['user message', question],
  ])('fails when the %s is deleted, and ignores later chunks', (_what, message_id) => {
    const turn = turnAfter(
      { name: 'message.send.ack', payload: { local_id: 'local-1', message_id: question, status: 'received' } },
      created({ id: answer, content: loading }),
      chunk(answer, 'Be', 1),
      { name: 'message.deleted', payload: { ...envelope, conversation_id: conversation, message_id } },
      chunk(answer, 'cause', 2),
    );
    expect(turn).toEqual({ ...newTurn(conversation, 'local-1'), messageId: question, outcome: 'failed' });
  });

  it('ignores the deletion of another message', () => {
    const before = [created({ id: answer, content: loading }), chunk(answer, 'Be', 1)];
    const deleted: ServerEvent = {
      name: 'message.deleted',
      payload: { ...envelope, conversation_id: conversation, message_id: id(98) },
    };
    expect(turnAfter(...before, deleted)).toEqual(turnAfter(...before));
  });

  it('matches a rejection by local_id', () => {
    const rejection = (local_id: string): ServerEvent => ({
      name: 'message.send.error',
      payload: { local_id, error: 'Too many requests.', code: 'rate_limited', retryable: true, request_id: 'r' },
    });
    expect(turnAfter(rejection('other')).rejection).toBeUndefined();
    expect(turnAfter(rejection('local-1')).rejection).toMatchObject({ code: 'rate_limited' });
  });
});

describe('a turn that the history updates', () => {
  const asked = listed({ id: question, role: 'user', content: text('Why?'), local_id: 'local-1', status: 'read' });
  const before = listed({ id: id(5), content: text('An older answer.'), status: 'delivered' });
  const start = newTurn(conversation, 'local-1');

  it.each([
    ['delivered', 'delivered'],
    ['silent', 'delivered'],
    ['failed', 'failed'],
    ['incomplete', 'failed'],
  ] as const)('finds an answer that ended as %s during a disconnect', (status, outcome) => {
    const turn = applyHistory(start, [listed({ id: answer, content: text('Because.'), status }), asked, before]);
    expect(turn).toMatchObject({ messageId: question, agentMessageId: answer, text: 'Because.', outcome });
  });

  it('selects the first answer after the user message', () => {
    const later = listed({ id: id(12), content: text('Another answer.'), status: 'delivered' });
    const turn = applyHistory(start, [later, listed({ id: answer, content: loading }), asked]);
    expect(turn).toMatchObject({ agentMessageId: answer });
    expect(turn.outcome).toBeUndefined();
  });

  it('stays open when the user message is stored without an answer', () => {
    expect(applyHistory(start, [asked, before])).toEqual({ ...start, messageId: question });
  });

  it('fails when the user message failed', () => {
    expect(applyHistory(start, [{ ...asked, extended_status: 'failed' }]).outcome).toBe('failed');
  });

  it('does not change when the user message was not stored', () => {
    expect(applyHistory(start, [before])).toBe(start);
  });
});
