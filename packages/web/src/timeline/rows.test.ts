import { describe, expect, it } from '@jest/globals';
import { stateOf, timelineOf, type TimelineRow, type TurnStep, type TurnSteps } from './rows.js';

const BEGIN = Date.UTC(2026, 10, 20, 8, 30);
const at = (second: number): string => new Date(BEGIN + second * 1_000).toISOString();
const NONE = { model_call: null, text: null, tool_call: null, approval: null, delegation: null };
const AGENT = { id: 'a', name: 'Manager', slug: 'manager' };

function turn(id: string, steps: TurnStep[], more: Partial<TurnSteps> = {}): TurnSteps {
  return {
    turn_id: id,
    conversation_id: 'c',
    agent: AGENT,
    status: 'completed',
    error: null,
    delegated_by: null,
    task: null,
    created_at: at(0),
    started_at: at(0),
    finished_at: at(10),
    steps,
    ...more,
  };
}
const times = (from: number, to: number | null) => ({ started_at: at(from), finished_at: to === null ? null : at(to) });

function modelCall(number: number, from: number, to: number | null, cost: number | null = null): TurnStep {
  const usage = { prompt_tokens: 100, cached_tokens: 0, completion_tokens: 20, reasoning_tokens: 0, estimated: false };
  const status = to === null ? 'running' : 'completed';
  const model = { purpose: 'step', status, provider: 'openai', model: 'mini', ...usage, cost_micros: cost } as const;
  return { ...NONE, type: 'model_call', id: `model:${number}`, ...times(from, to), model_call: model };
}
function toolCall(id: string, from: number, to: number | null, status: 'running' | 'failed' | 'completed'): TurnStep {
  const cut = { arguments: null, arguments_truncated: false, result: null, result_truncated: false };
  const call = { call_id: id, tool: 'recall', status, ...cut, receipt_id: null };
  return { ...NONE, type: 'tool_call', id: `call:${id}`, ...times(from, to), tool_call: call };
}
function delegation(call: string | null, turnId: string, from: number, to: number | null): TurnStep {
  const status = to === null ? 'running' : 'completed';
  const owner = { call_id: call, workflow_id: null, message_id: 'm', agent: AGENT, task: 'Find facts' };
  return {
    ...NONE,
    type: 'delegation',
    id: `delegation:${turnId}`,
    ...times(from, to),
    delegation: { ...owner, turn_id: turnId, status },
  };
}
function approval(call: string | null, from: number, to: number | null): TurnStep {
  const status = to === null ? 'open' : 'approved';
  const details = { call_id: call, message_id: 'm', status, tokens: null, expires_at: at(99) } as const;
  return { ...NONE, type: 'approval', id: 'approval:m', ...times(from, to), approval: details };
}

const shape = (rows: readonly TimelineRow[]) => rows.map(({ key, depth }) => `${'  '.repeat(depth)}${key}`);
const NOTHING: ReadonlyMap<string, TurnSteps> = new Map();

describe('the rows of a time line', () => {
  it('have approvals and tasks below their call, and the steps of an expanded task below it', () => {
    const steps = [
      modelCall(1, 0, 1),
      toolCall('x', 1, 5, 'completed'),
      toolCall('y', 1, 8, 'completed'),
      approval('x', 1, 4),
      delegation('y', 'task', 2, 7),
      modelCall(2, 8, 10),
    ];
    const task = turn('task', [modelCall(1, 3, 6)], { started_at: at(2), finished_at: at(7) });
    const { rows } = timelineOf(turn('t', steps), new Map([['task', task]]), BEGIN);
    expect(shape(rows)).toEqual([
      't/model:1',
      't/call:x',
      '  t/approval:m',
      't/call:y',
      '  t/delegation:task',
      '    task/model:1',
      't/model:2',
    ]);
  });

  it('keep a task whose call is not listed at its own place', () => {
    const steps = [modelCall(1, 0, 1), delegation('gone', 'task', 2, 3), delegation(null, 'step', 3, 4)];
    const { rows } = timelineOf(turn('t', steps), NOTHING, BEGIN);
    expect(shape(rows)).toEqual(['t/model:1', 't/delegation:task', 't/delegation:step']);
  });

  it('do not repeat a turn that names itself as its task', () => {
    const loop = turn('t', [delegation(null, 't', 0, 1)]);
    expect(timelineOf(loop, new Map([['t', loop]]), BEGIN).rows).toHaveLength(1);
  });

  it('have their place and length in the whole time, which is that of the turn', () => {
    const { rows, durationMs } = timelineOf(turn('t', [modelCall(1, 2, 7)]), NOTHING, BEGIN);
    expect(durationMs).toBe(10_000);
    expect(rows[0]).toMatchObject({ durationMs: 5_000, from: 0.2, length: 0.5 });
  });

  it('reach to the present while they run', () => {
    const running = turn('t', [toolCall('x', 2, null, 'running')], { status: 'running', finished_at: null });
    const { rows, durationMs } = timelineOf(running, NOTHING, BEGIN + 4_000);
    expect(durationMs).toBe(4_000);
    expect(rows[0]).toMatchObject({ from: 0.5, length: 0.5, durationMs: 2_000, state: 'running' });
  });

  it('have no duration if the end is not known', () => {
    const unknown = { ...modelCall(1, 2, null) };
    unknown.model_call = unknown.model_call && { ...unknown.model_call, status: 'unknown' };
    const { rows } = timelineOf(turn('t', [unknown]), NOTHING, BEGIN + 60_000);
    expect(rows[0]).toMatchObject({ state: 'unknown', length: 0, durationMs: null });
  });

  it('stay within the time line if the clock of the device is late', () => {
    const running = turn('t', [modelCall(1, 2, null)], { status: 'running', finished_at: null });
    const { rows, durationMs } = timelineOf(running, NOTHING, BEGIN - 60_000);
    expect(durationMs).toBeGreaterThanOrEqual(0);
    expect(rows[0]).toMatchObject({ length: 0, durationMs: 0 });
  });

  it('add up tokens and cost, with those of expanded tasks', () => {
    const steps = [modelCall(1, 0, 1, 300), delegation(null, 'task', 1, 2)];
    const task = turn('task', [modelCall(1, 1, 2, 50), modelCall(2, 1, 2)]);
    expect(timelineOf(turn('t', steps), NOTHING, BEGIN)).toMatchObject({ tokens: 120, costMicros: 300 });
    expect(timelineOf(turn('t', steps), new Map([['task', task]]), BEGIN)).toMatchObject({
      tokens: 360,
      costMicros: 350,
    });
    expect(timelineOf(task, NOTHING, BEGIN).costMicros).toBe(50);
    expect(timelineOf(turn('t', [modelCall(1, 0, 1)]), NOTHING, BEGIN).costMicros).toBeNull();
  });

  it.each([
    ['waiting', approval('x', 1, null)],
    ['done', approval('x', 1, 2)],
    ['failed', toolCall('x', 1, 2, 'failed')],
    ['running', delegation('x', 't', 1, null)],
  ])('are %s by the state of their step', (state, step) => {
    expect(stateOf(step)).toBe(state);
  });
});
