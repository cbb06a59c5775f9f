import type { ShownMessage } from '@uswarm/client';
import { describe, expect, it } from '@jest/globals';
import { activityOf, rowsOf } from './rows.js';

let count = 0;
interface Given {
  agent?: string;
  at?: string;
  text?: string;
  answered?: boolean;
}
function message(content: object, { agent, at = '2026-01-01T10:00:00Z', text = '', answered = false }: Given = {}) {
  count += 1;
  const id = `m${count}`;
  const shown = {
    key: id,
    id,
    role: agent === undefined ? 'user' : 'agent',
    text,
    content,
    streaming: (content as { type: string }).type === 'loading',
    answered,
    status: 'read',
    message: { id, created_at: at, error: null, agent: agent === undefined ? null : { id: agent, name: agent } },
  };
  return shown as unknown as ShownMessage;
}
const tool = (agent: string) =>
  message({ type: 'tool_status', state: 'completed', tool: 't', description: '' }, { agent });
const text = (given: Given) => message({ type: 'text', text: '' }, given);
const card = (agent: string) => message({ type: 'action_card', actions: [], selected_action_id: null }, { agent });
const delegation = (from: string, to: string) =>
  message({ type: 'delegation', status: 'running', to: { id: to } }, { agent: from });

describe('rowsOf', () => {
  it('joins the calls of one agent that follow each other', () => {
    const rows = rowsOf([text({}), tool('a'), tool('a'), tool('b'), text({ agent: 'a' })]);
    expect(rows.map(({ messages }) => messages.length)).toEqual([1, 2, 1, 1]);
  });

  it('keeps the calls open that led to an approval', () => {
    expect(rowsOf([tool('a'), card('a')]).map(({ isPinned }) => isPinned)).toEqual([true, false]);
  });

  it('indents what agents do by the delegations that lead to them, and only until the next question', () => {
    const rows = rowsOf([
      text({}),
      delegation('a', 'b'),
      tool('b'),
      delegation('b', 'c'),
      tool('c'),
      text({}),
      tool('c'),
    ]);
    expect(rows.map(({ depth }) => depth)).toEqual([0, 0, 1, 1, 2, 0, 0]);
  });

  it('marks a pause of more than an hour', () => {
    const times = ['2026-01-01T10:00:00Z', '2026-01-01T10:59:00Z', '2026-01-01T12:30:00Z'];
    const rows = rowsOf(times.map((at) => text({ at })));
    expect(rows.map(({ pausedUntil }) => pausedUntil)).toEqual([times[0], undefined, times[2]]);
  });

  it('marks the first answer after the read position', () => {
    const [question, read, unread, last] = [text({}), text({ agent: 'a' }), text({ agent: 'a' }), text({ agent: 'a' })];
    const rows = rowsOf([question, read, unread, last], read.id);
    expect(rows.map(({ isFirstUnread }) => isFirstUnread)).toEqual([false, false, true, false]);
    expect(rowsOf([question, read]).some(({ isFirstUnread }) => isFirstUnread)).toBe(false);
  });
});

describe('activityOf', () => {
  it.each([
    ['nothing', [], { isWorking: false, text: '' }],
    ['a question', [text({})], { isWorking: true, text: 'The swarm is working' }],
    [
      'an answer whose text has not begun',
      [text({}), message({ type: 'loading' }, { agent: 'Manager' })],
      { isWorking: true, text: 'Manager is thinking' },
    ],
    [
      'an answer that is written',
      [text({}), message({ type: 'loading' }, { agent: 'Manager', text: 'So far' })],
      { isWorking: true, text: 'Manager is writing' },
    ],
    ['a task', [text({}), delegation('a', 'b')], { isWorking: true, text: 'One task runs' }],
    ['a card', [text({}), card('a')], { isWorking: false, text: 'A decision waits for you.' }],
    [
      'a complete answer',
      [text({ answered: true }), text({ agent: 'a' })],
      { isWorking: false, text: 'The answer is complete.' },
    ],
  ])('describes %s', (_, messages, expected) => {
    expect(activityOf(messages)).toEqual(expected);
  });
});
