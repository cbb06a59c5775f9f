import { describe, expect, it } from '@jest/globals';
import type { TurnStep } from '@uswarm/contract';
import type { JournalPart } from './journal-parts.js';
import { listSteps, type StepSources, turnView } from './step-list.js';
import type { ChainedTurn, ModelCallRow, ReceiptRow, StepRecords } from './steps.store.js';

const at = (second: number): string => new Date(Date.UTC(2026, 10, 20, 8, 30, second)).toISOString();
const RULES = { markdown: { text: (text: string) => text }, ownTools: new Set(['remember']) };

const TURN: ChainedTurn = {
  id: 't1',
  status: 'done',
  error_code: null,
  shown_entries: 0,
  agent: { id: 'a', name: 'Manager', slug: 'manager' },
  created_at: at(0),
  started_at: at(1),
  finished_at: at(30),
  waits: false,
};
const NOTHING: StepRecords = {
  model_calls: [],
  receipts: [],
  approvals: [],
  outcomes: [],
  tasks: [],
  reply: null,
  owner: null,
};
const CALL: ModelCallRow = {
  step: 1,
  kind: 'step',
  provider: 'openai',
  model: 'gpt-5-mini',
  prompt_tokens: 10,
  cached_tokens: 0,
  completion_tokens: 5,
  reasoning_tokens: 0,
  estimated: false,
  reserved: false,
  cost_micros: null,
  created_at: at(2),
  finished_at: at(4),
};
const RECEIPT: ReceiptRow = {
  id: 'r1',
  call_id: 'c1',
  tool: 'send_mail',
  effect: 'once',
  status: 'succeeded',
  outcome: 'Sent.',
  sent_at: at(6),
  finished_at: at(7),
};

const step = (number: number, second: number, text: string, ...tools: string[]): JournalPart => ({
  kind: 'step',
  number,
  at: new Date(at(second)),
  text,
  calls: tools.map((tool, index) => ({
    id: `c${number + index}`,
    tool,
    arguments: { text: '{}', truncated: false },
  })),
});
const sources = (more: Partial<Omit<StepSources, 'records'>> & { records?: Partial<StepRecords> }): StepSources => ({
  chain: { turnId: 't1', turns: [TURN] },
  parts: [],
  taskResult: undefined,
  ...more,
  records: { ...NOTHING, ...more.records },
});
const listed = (more: Parameters<typeof sources>[0]): TurnStep[] =>
  listSteps(sources(more), RULES).map(({ step: one }) => one);
const textsOf = (steps: readonly TurnStep[]) => steps.flatMap(({ text }) => (text === null ? [] : [text.text]));

describe('the list of steps', () => {
  it('shows the text of the reply without what the journal has of it', () => {
    const parts = [step(1, 5, 'I look. ', 'recall'), step(3, 9, 'Once more. ', 'recall')];
    const reply = { message_id: 'm', text: 'I look. Once more. Found.', failed: false };
    expect(textsOf(listed({ parts, records: { reply } }))).toEqual(['I look.', 'Once more.', 'Found.']);
  });

  it('does not compare the reply with what earlier replies show', () => {
    const parts = [step(1, 5, 'I ask. ', 'recall')];
    const turns = [TURN, { ...TURN, id: 't2', shown_entries: 1 }];
    const reply = { message_id: 'm', text: 'I ask. You agreed.', failed: false };
    const steps = listed({ parts, chain: { turnId: 't1', turns }, records: { reply } });
    expect(textsOf(steps)).toEqual(['I ask.', 'I ask. You agreed.']);
  });

  it('does not show the sentence of a failed reply as a text', () => {
    const reply = { message_id: 'm', text: 'The model is unavailable.', failed: true };
    expect(listed({ records: { reply } })).toEqual([]);
  });

  it('shows what the calling agent was told as the last text of a task', () => {
    const taskResult = { text: 'I look. Facts.', truncated: true };
    const steps = listed({ parts: [step(1, 5, 'I look. ', 'recall')], taskResult });
    expect(textsOf(steps)).toEqual(['I look.', 'Facts.']);
    expect(steps.at(-1)?.text).toEqual({ text: 'Facts.', truncated: true, message_id: null });
  });

  it.each([
    ['running', 'running', true],
    ['unknown', 'done', true],
    ['completed', 'running', false],
  ] as const)('shows a model call as %s in a turn that is %s', (expected, status, reserved) => {
    const chain = { turnId: 't1', turns: [{ ...TURN, status }] };
    const [call] = listed({ chain, records: { model_calls: [{ ...CALL, reserved }] } });
    expect(call?.model_call?.status).toBe(expected);
  });

  it('shows a model call that was cut by a kill as unknown beside the one that repeats it', () => {
    const chain = { turnId: 't1', turns: [{ ...TURN, status: 'running' as const }] };
    const cut = { ...CALL, reserved: true, finished_at: null };
    const steps = listed({ chain, records: { model_calls: [cut, { ...cut, step: 2, created_at: at(8) }] } });
    expect(steps.map(({ model_call: call }) => call?.status)).toEqual(['unknown', 'running']);
  });

  it('begins a model call that was counted at its end after what precedes it', () => {
    const parts = [step(1, 5, '', 'recall')];
    const counted = { ...CALL, created_at: at(9), finished_at: at(9) };
    const call = listed({ parts, records: { model_calls: [counted] } }).find(({ type }) => type === 'model_call');
    expect(call).toMatchObject({ started_at: at(5), finished_at: at(9) });
  });

  it('hides the arguments of tools that change data of uswarm, and shows those of others', () => {
    const steps = listed({ parts: [step(1, 5, '', 'remember', 'recall')] });
    expect(steps.map(({ tool_call: call }) => call?.arguments)).toEqual([null, '{}']);
  });

  it('shows calls with receipts after the journal was deleted', () => {
    expect(listed({ records: { receipts: [RECEIPT] } })).toMatchObject([
      {
        id: 'call:c1',
        started_at: at(6),
        finished_at: at(7),
        tool_call: { tool: 'send_mail', status: 'completed', arguments: null, result: 'Sent.', receipt_id: 'r1' },
      },
    ]);
  });

  it('shows a call as unknown if the status of its receipt is unknown', () => {
    const receipts = [{ ...RECEIPT, status: 'unknown' as const, outcome: 'It is not known.' }];
    const steps = listed({ parts: [step(1, 5, '', 'send_mail')], records: { receipts } });
    expect(steps.map(({ tool_call: call }) => call?.status)).toEqual(['unknown']);
  });

  it('orders what happened at the same time by what caused the other', () => {
    const parts = [step(1, 4, 'I look. ', 'recall')];
    const model_calls = [{ ...CALL, created_at: at(4) }];
    const types = listed({ parts, records: { model_calls } }).map(({ type }) => type);
    expect(types).toEqual(['model_call', 'text', 'tool_call']);
  });
});

describe('the view of a turn', () => {
  const view = (...turns: Partial<ChainedTurn>[]) =>
    turnView('c', sources({ chain: { turnId: 't1', turns: turns.map((turn) => ({ ...TURN, ...turn })) } }));

  it('has the state of the last turn and the start of the first one', () => {
    const turn = view({}, { id: 't2', status: 'running', started_at: at(40), finished_at: null });
    expect(turn).toMatchObject({ status: 'running', started_at: at(1), finished_at: null, error: null });
  });

  it('has no end while it waits', () => {
    expect(view({ waits: true })).toMatchObject({ status: 'waiting', finished_at: null });
  });

  it('has an error if it was stopped, or failed without a code', () => {
    expect(view({ status: 'stopped' }).error?.code).toBe('stopped');
    expect(view({ status: 'failed' }).error?.code).toBe('internal_error');
  });
});
