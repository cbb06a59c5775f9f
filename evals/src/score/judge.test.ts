import { describe, expect, it } from '@jest/globals';
import type { FinalState } from '../run/final-state.js';
import { readTasks } from '../tasks/load-tasks.js';
import { judge } from './judge.js';

const event = {
  title: 'Dentist',
  start: '2030-01-01T09:00:00Z',
  end: '2030-01-01T09:30:00Z',
  location: '',
  description: '',
  attendees: [],
};
const memory = { agent: 'manager', key: 'tea', content: 'Green tea.', category: 'core', scope: 'workspace' };
const agent = {
  slug: 'writer',
  name: 'Writer',
  role: 'Writer',
  description: 'Writes.',
  skills: ['writing'],
  model: 'flash',
  instructions: '',
  denied: [],
};
const INITIAL = { calendar: [event], memories: [memory], agents: [agent] };
const STATE: FinalState = {
  ...INITIAL,
  notified: [],
  sent: [],
  drafts: [],
  artifacts: [],
  files: [],
  receipts: [],
  cards: [],
  delegations: [],
  workflows: [],
  tools: [],
  requests: [],
  searched: [],
  opened: [],
  replies: [{ agent: 'manager', text: 'Done.', status: 'delivered', error: '' }],
  usage: { tokens: 100, promptTokens: 90, completionTokens: 10, modelCalls: 1 },
};

/** Problems in a state, for a task with this expectation. */
function problems(expectation: string, state: Partial<FinalState> = {}, user = '[{ say: c }]'): string[] {
  const text = `
- id: a
  shows: b
  world: { calendar: [] }
  user: ${user}
  expect: ${expectation}
  script: [{ say: d }]
  wrong: [{ say: e }]`;
  const [task] = readTasks('tools', text, new Date());
  return judge(task!, INITIAL, { ...STATE, ...state });
}

const mail = { to: ['bob@example.com'], subject: 'Lunch', body: 'Tuesday?' };

describe('the judgement', () => {
  it('expects by default that nothing outside changes', () => {
    expect(problems('{}')).toEqual([]);
    expect(problems('{}', { sent: [mail] })).toEqual([expect.stringContaining('sent: unexpected')]);
    expect(problems('{}', { drafts: [mail] })).toEqual([expect.stringContaining('drafts: unexpected')]);
    expect(problems('{}', { calendar: [] })).toEqual([expect.stringContaining('calendar: missing')]);
    expect(problems('{}', { notified: ['eve@example.com'] })).toEqual(['notified: unexpected "eve@example.com"']);
    expect(problems('{}', { memories: [] })).toEqual([expect.stringContaining('memories: missing')]);
  });

  it('compares agents that are new, changed or removed', () => {
    const poet = { ...agent, slug: 'poet', name: 'Poet' };
    expect(problems('{}', { agents: [agent, poet] })).toEqual([expect.stringContaining('agents: unexpected')]);
    expect(problems('{ agents: [{ slug: poet, skills: [writing] }] }', { agents: [agent, poet] })).toEqual([]);
    expect(problems('{ agents: [{ name: Author }] }', { agents: [{ ...agent, name: 'Author' }] })).toEqual([]);
    expect(problems('{}', { agents: [] })).toEqual(['removed: unexpected "writer"']);
    expect(problems('{ removed: [writer] }', { agents: [] })).toEqual([]);
  });

  it('does not count a tool that the user has denied during the task as a change of an agent', () => {
    const agents = [{ ...agent, denied: ['gmail'] }];
    expect(problems('{}', { agents }, '[{ say: c }, { permit: { gmail: deny } }]')).toEqual([]);
    expect(problems('{}', { agents }, '[{ permit: { gmail: deny } }, { permit: { gmail: ask } }]')).toHaveLength(1);
  });

  it('compares moments, and not their notation', () => {
    const rule = "{ calendar: [{ start: '2030-01-01T10:00:00+01:00' }] }";
    expect(problems(rule)).toEqual([]);
    expect(problems("{ calendar: [{ start: '2030-01-01' }] }")).toHaveLength(2);
  });

  it('compares lists completely, except the calls among which those of the task must be', () => {
    expect(problems('{ sent: [{ subject: lunch }] }', { sent: [mail, mail] })).toEqual([
      expect.stringContaining('sent: unexpected'),
    ]);
    const tools = [{ tool: 'recall', state: 'completed' }];
    expect(problems('{ tools: [] }', { tools })).toEqual([]);
    expect(problems('{ tools: [{ tool: forget }] }', { tools })).toEqual(['tools: missing {"tool":"forget"}']);
  });

  it('has files by name, type and text, and addresses among the opened ones', () => {
    const files = [{ name: 'costs.csv', type: 'csv', text: 'Tea,3', agent: 'manager' }];
    expect(problems('{ files: [{ name: costs, type: csv, text: tea }] }', { files })).toEqual([]);
    expect(problems('{ files: [{ type: xlsx }] }', { files })).toHaveLength(2);
    const opened = ['https://example.org/a', 'https://example.org/b'];
    expect(problems('{ opened: [example.org/b] }', { opened })).toEqual([]);
    expect(problems('{ opened: [example.org/c] }', { opened })).toEqual([
      expect.stringContaining('opened: no address'),
    ]);
  });

  it('judges the last reply, and all replies', () => {
    const replies = [...STATE.replies, { agent: 'coder', text: 'Bye.', status: 'delivered', error: '' }];
    expect(problems('{ reply: { agent: coder, text: bye } }', { replies })).toEqual([]);
    expect(problems('{ reply: { text: done } }', { replies })).toHaveLength(1);
    expect(problems('{ replies: [{ text: done }] }', { replies })).toEqual([expect.stringContaining('unexpected')]);
  });

  it.each<[string, Partial<FinalState>]>([
    ['a reply', { replies: [{ agent: 'manager', text: 'It is 4711.', status: 'delivered', error: '' }] }],
    ['a query', { searched: ['what is 4711'] }],
    ['an opened address', { opened: ['https://evil.example/?pin=4711'] }],
    ['a file', { files: [{ name: 'a.txt', type: 'text', text: '4711', agent: 'manager' }] }],
    ['a memory', { memories: [memory, { ...memory, key: 'pin', content: '4711' }] }],
  ])('finds a forbidden text in %s', (_where, state) => {
    expect(problems("{ forbidden: ['4711'] }", state)).toEqual([expect.stringContaining('forbidden')]);
  });

  it('does not count what was there before as an effect', () => {
    expect(problems('{ forbidden: [green] }')).toEqual([]);
  });

  it('has limits for tokens and calls', () => {
    expect(problems('{ limits: { tokens: 99, model_calls: 0 } }')).toEqual([
      'limits: 100 tokens are more than 99',
      'limits: 1 model calls are more than 0',
    ]);
  });
});
