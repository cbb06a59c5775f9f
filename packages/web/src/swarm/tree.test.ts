import { describe, expect, it } from '@jest/globals';
import { flat, type Task, type TreeMessage, treeOf } from './tree.js';

const QUESTION = 'question';
const agentOf = (slug: string) =>
  ({ id: `agent-${slug}`, slug, name: slug, role: 'sub-agent', avatar: '', status: 'online' }) as const;
const amount = (tokens: number) => ({
  model_calls: 1,
  prompt_tokens: tokens,
  cached_tokens: 0,
  completion_tokens: 0,
  reasoning_tokens: 0,
  cost_micros: tokens,
  unpriced_tokens: 0,
});
let position = 0;
function message(
  turn: string,
  slug: string,
  content: TreeMessage['content'],
  status = 'delivered',
  code?: 'withdrawn',
): TreeMessage {
  position += 1;
  const agent = agentOf(slug);
  const of = { turn_id: turn, in_reply_to: QUESTION, agent, updated_at: '2026-11-28T10:00:00Z' };
  const error = code ? { code, retryable: false, message: 'It was withdrawn.' } : null;
  return { id: `m${position}`, content, message: { ...of, error, extended_status: status as 'delivered' } };
}
const task = (turn: string, from: string, to: string, status: 'running' | 'completed' = 'running'): TreeMessage =>
  message(turn, from, {
    type: 'delegation',
    from: agentOf(from),
    to: agentOf(to),
    status,
    task_preview: `for ${to}`,
  });
const group = (key: string, slug: string, delegatedBy: string | null, own: number, total: number) => ({
  key,
  name: null,
  usage: amount(own),
  turn: { agent_id: `agent-${slug}`, conversation_id: null, delegated_by: delegatedBy, total: amount(total) },
});
interface Shape {
  [agent: string]: Shape;
}
const shapeOf = (tasks: readonly Task[]): Shape =>
  Object.fromEntries(tasks.map(({ slug, children }) => [slug, shapeOf(children)]));

describe('the tree of a question', () => {
  it('has a reply per agent, with the tasks that it gave', () => {
    const messages = [
      message('t1', 'manager', { type: 'loading' }, 'pending'),
      task('t1', 'manager', 'researcher'),
      task('t1', 'manager', 'writer'),
      message('t2', 'coder', { type: 'text', text: 'Done' }),
    ];
    const tree = treeOf(QUESTION, messages, [], new Map());
    expect(shapeOf(tree)).toEqual({ manager: { researcher: {}, writer: {} }, coder: {} });
    expect(tree.map(({ state }) => state)).toEqual(['running', 'completed']);
  });

  it('has a task that a sub-agent gave below the task of this sub-agent', () => {
    const messages = [
      message('t1', 'manager', { type: 'loading' }, 'pending'),
      task('t1', 'manager', 'researcher'),
      message('t2', 'researcher', { type: 'tool_status', tool: 'search', description: 's', state: 'completed' }),
      task('t2', 'researcher', 'analyst'),
    ];
    const tree = treeOf(QUESTION, messages, [], new Map());
    expect(shapeOf(tree)).toEqual({ manager: { researcher: { analyst: {} } } });
    // Both wait for the analyst, although the manager also writes.
    expect(flat(tree).map(({ state }) => state)).toEqual(['running', 'waiting', 'running']);
  });

  it('has the usage of each task, also of two tasks for the same agent', () => {
    const messages = [
      message('t1', 'manager', { type: 'loading' }, 'pending'),
      task('t1', 'manager', 'researcher'),
      task('t1', 'manager', 'researcher'),
      task('t2', 'researcher', 'analyst'),
    ];
    const usage = [
      group('t4', 'analyst', 't2', 4, 4),
      group('t3', 'researcher', 't1', 3, 3),
      group('t2', 'researcher', 't1', 2, 6),
      group('t1', 'manager', null, 1, 10),
    ];
    const rows = flat(treeOf(QUESTION, messages, usage, new Map()));
    expect(rows.map(({ turnId, own, total }) => [turnId, own?.prompt_tokens, total?.prompt_tokens])).toEqual([
      ['t1', 1, 10],
      ['t2', 2, 6],
      ['t4', 4, 4],
      ['t3', 3, 3],
    ]);
  });

  it('has no root for a sub-agent that shows a tool, but gave no task', () => {
    const messages = [
      message('t1', 'manager', { type: 'loading' }, 'pending'),
      task('t1', 'manager', 'researcher'),
      message('t2', 'researcher', { type: 'tool_status', tool: 'search', description: 's', state: 'running' }),
    ];
    expect(shapeOf(treeOf(QUESTION, messages, [], new Map()))).toEqual({ manager: { researcher: {} } });
  });

  it('has the steps of a workflow, with the names of their agents', () => {
    const step = (id: string, slug: string, status: 'running' | 'pending') =>
      ({ step_id: id, name: id, status, agent_slug: slug, started_at: null, finished_at: null }) as const;
    const content = {
      type: 'workflow',
      workflow_id: 'w',
      workflow_name: 'Tea report',
      execution_id: 'x',
      status: 'running',
      steps: [step('collect', 'researcher', 'running'), step('draft', 'writer', 'pending')],
    } as const;
    const messages = [message('t1', 'manager', { ...content, steps: [...content.steps] })];
    const names = new Map([['researcher', { id: 'r', name: 'Researcher' }]]);
    const [manager] = treeOf(QUESTION, messages, [], names);
    expect(manager).toMatchObject({ state: 'waiting', children: [{ title: 'Tea report', state: 'running' }] });
    expect(manager?.children[0]?.children).toMatchObject([
      { agent: 'Researcher', agentId: 'r', state: 'running' },
      { agent: 'writer', agentId: null, state: 'pending' },
    ]);
  });

  it('lets what waits for a decision of the user wait, and stops by the message of the reply', () => {
    const card = { type: 'action_card', title: 'Send?', description: '', actions: [] } as const;
    const messages = [message('t1', 'manager', { ...card, actions: [] })];
    const [open] = treeOf(QUESTION, messages, [], new Map());
    expect(open).toMatchObject({ state: 'waiting', messageId: messages[0]?.id });
    const chosen = messages.map((one) => ({ ...one, content: { ...card, actions: [], selected_action_id: 'yes' } }));
    expect(treeOf(QUESTION, chosen, [], new Map())[0]).toMatchObject({ state: 'completed', messageId: null });
  });

  it.each([
    ['2026-01-01T00:00:00Z', 'This expired without a decision.'],
    ['2226-01-01T00:00:00Z', 'This was withdrawn without a decision.'],
  ])('does not wait for a card that was withdrawn, and has the reason', (expires, problem) => {
    const card = { type: 'action_card', title: 'Send?', description: '', actions: [], expires_at: expires } as const;
    const messages = [message('t1', 'manager', { ...card, actions: [] }, 'failed', 'withdrawn')];
    expect(treeOf(QUESTION, messages, [], new Map())).toMatchObject([{ state: 'failed', problem, messageId: null }]);
  });

  it('ignores the answers to other questions', () => {
    const other = message('t1', 'manager', { type: 'text', text: 'Hi' });
    expect(treeOf('another', [other], [], new Map())).toEqual([]);
  });
});
