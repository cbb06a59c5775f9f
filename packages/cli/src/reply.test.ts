import { describe, expect, it } from '@jest/globals';
import type { ListedMessage, MessageContent, MessageStatus } from '@uswarm/contract';
import { textOf } from './chunk-reducer.js';
import { followEvent, followHistory, newReply, type Reply, type ServerEvent } from './reply.js';

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
const text = (words: string) => ({ type: 'text', text: words }) as const;
const place = { workspace_id: workspace, seq: 1 };
const created = (parts: MessageParts): ServerEvent => ({
  name: 'message.new',
  payload: { ...place, message: message(parts) },
});
const updated = (parts: MessageParts): ServerEvent => ({
  name: 'message.updated',
  payload: { ...place, message: message(parts) },
});
const chunk = (message_id: string, words: string, chunk_seq = 1): ServerEvent => ({
  name: 'message.chunk',
  payload: {
    workspace_id: workspace,
    message_id,
    conversation_id: conversation,
    agent_id: agent.id,
    chunk: words,
    chunk_seq,
    generation: 1,
  },
});
const done = (message_id: string, status: 'delivered' | 'failed'): ServerEvent => ({
  name: 'message.done',
  payload: { ...place, message_id, conversation_id: conversation, agent_id: agent.id, status, error: null },
});
const follow = (...events: ServerEvent[]): Reply => events.reduce(followEvent, newReply(conversation, 'local-1'));

describe('following events', () => {
  it('goes from the ack to the final text', () => {
    const reply = follow(
      { name: 'message.send.ack', payload: { local_id: 'local-1', message_id: question, status: 'received' } },
      created({ id: question, role: 'user', content: text('Why?'), local_id: 'local-1' }),
      created({ id: answer, content: loading }),
      chunk(answer, 'Be', 1),
      chunk(answer, 'cause', 2),
      updated({ id: answer, content: text('Because.'), status: 'delivered' }),
      done(answer, 'delivered'),
    );
    expect(reply).toMatchObject({
      questionId: question,
      replyId: answer,
      agentId: agent.id,
      text: 'Because.',
      outcome: 'delivered',
    });
    expect(textOf(reply.streamed)).toBe('Because');
  });

  it('ignores the reply to another question that is still running', () => {
    const other = id(99);
    const reply = follow(
      chunk(other, 'no'),
      done(other, 'failed'),
      created({ id: answer, content: loading }),
      chunk(other, 'no'),
    );
    expect(reply).toMatchObject({ replyId: answer });
    expect(reply.outcome).toBeUndefined();
    expect(textOf(reply.streamed)).toBe('');
  });

  it('ignores messages of other conversations, of the user, and of tools', () => {
    const tool = { type: 'tool_status', tool: 't', description: '', state: 'running' } as const;
    const reply = follow(
      created({ id: id(30), content: loading, conversation_id: id(31) }),
      created({ id: id(32), content: text('mine'), role: 'user' }),
      created({ id: id(33), content: tool }),
    );
    expect(reply.replyId).toBeUndefined();
  });

  it.each([
    ['reply', answer],
    ['question', question],
  ])('forgets a reply when the %s is deleted, and later chunks of it change nothing', (_what, message_id) => {
    const reply = follow(
      { name: 'message.send.ack', payload: { local_id: 'local-1', message_id: question, status: 'received' } },
      created({ id: answer, content: loading }),
      chunk(answer, 'Be', 1),
      { name: 'message.deleted', payload: { ...place, conversation_id: conversation, message_id } },
      chunk(answer, 'cause', 2),
    );
    expect(reply).toEqual({ ...newReply(conversation, 'local-1'), questionId: question, outcome: 'failed' });
  });

  it('ignores the deletion of another message', () => {
    const before = [created({ id: answer, content: loading }), chunk(answer, 'Be', 1)];
    const deleted: ServerEvent = {
      name: 'message.deleted',
      payload: { ...place, conversation_id: conversation, message_id: id(98) },
    };
    expect(follow(...before, deleted)).toEqual(follow(...before));
  });

  it('knows a refusal by its local_id', () => {
    const refusal = (local_id: string): ServerEvent => ({
      name: 'message.send.error',
      payload: { local_id, error: 'Too many requests.', code: 'rate_limited', retryable: true, request_id: 'r' },
    });
    expect(follow(refusal('other')).refusal).toBeUndefined();
    expect(follow(refusal('local-1')).refusal).toMatchObject({ code: 'rate_limited' });
  });
});

describe('following the history', () => {
  const asked = listed({ id: question, role: 'user', content: text('Why?'), local_id: 'local-1', status: 'read' });
  const before = listed({ id: id(5), content: text('An older reply.'), status: 'delivered' });
  const start = newReply(conversation, 'local-1');

  it.each([
    ['delivered', 'delivered'],
    ['silent', 'delivered'],
    ['failed', 'failed'],
    ['incomplete', 'failed'],
  ] as const)('finds a reply that ended %s while nobody listened', (status, outcome) => {
    const reply = followHistory(start, [listed({ id: answer, content: text('Because.'), status }), asked, before]);
    expect(reply).toMatchObject({ questionId: question, replyId: answer, text: 'Because.', outcome });
  });

  it('takes the first reply after the question', () => {
    const later = listed({ id: id(12), content: text('To somebody else.'), status: 'delivered' });
    const reply = followHistory(start, [later, listed({ id: answer, content: loading }), asked]);
    expect(reply).toMatchObject({ replyId: answer });
    expect(reply.outcome).toBeUndefined();
  });

  it('waits on when the question is stored and nothing followed', () => {
    expect(followHistory(start, [asked, before])).toEqual({ ...start, questionId: question });
  });

  it('knows that the question failed', () => {
    expect(followHistory(start, [{ ...asked, extended_status: 'failed' }]).outcome).toBe('failed');
  });

  it('knows nothing of a question that was never stored', () => {
    expect(followHistory(start, [before])).toBe(start);
  });
});
