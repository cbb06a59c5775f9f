import { expect, it } from '@jest/globals';
import type { MessageData, TurnStep, TurnSteps } from '@uswarm/contract';
import { stepsOfAnswer } from './turn-steps.js';

const NOTHING = { model_call: null, text: null, tool_call: null, approval: null, delegation: null };
let count = 0;
const step = (type: TurnStep['type'], details: object): TurnStep => ({
  ...NOTHING,
  type,
  id: `s${(count += 1)}`,
  started_at: '2026-01-01T00:00:00Z',
  finished_at: null,
  [type]: details,
});
const turn = (agent: string, steps: TurnStep[], delegatedBy: string | null = null) =>
  ({ agent: { name: agent }, status: 'completed', delegated_by: delegatedBy, steps }) as unknown as TurnSteps;
const message = (turnId?: string, question?: string) =>
  ({ turn_id: turnId, in_reply_to: question }) as unknown as MessageData;

const TURNS: Record<string, TurnSteps> = {
  old: turn('Manager', [step('text', { text: 'Earlier.' })]),
  t1: turn('Manager', [
    step('model_call', { model: 'm', prompt_tokens: 40, completion_tokens: 2, status: 'completed' }),
    step('delegation', { agent: { name: 'Researcher' }, task: 'Find tea', turn_id: 't2' }),
    step('approval', { status: 'approved' }),
    step('text', { text: 'Tea\u001b[2J\nis green.' }),
  ]),
  t2: turn('Researcher', [step('tool_call', { tool: 'search', arguments: '{"q":"tea"}', status: 'completed' })], 't1'),
};

it('lists what agents did for the newest answer, with tasks below those who gave them, and without control characters', async () => {
  // Newest first, as the chat loads them.
  const messages = [message('t1', 'q2'), message('t2', 'q2'), message(), message('old', 'q1')];
  expect(await stepsOfAnswer(messages, async (id) => TURNS[id]!)).toEqual([
    'Manager (completed)',
    '  asked m: 42 tokens, completed',
    '  gave a task to Researcher: “Find tea”',
    '    Researcher (completed)',
    '      used search {"q":"tea"}: completed',
    '  asked for your approval: approved',
    '  wrote “Tea[2J is green.”',
  ]);
});

it('lists nothing before the first answer', async () => {
  expect(await stepsOfAnswer([message()], async (id) => TURNS[id]!)).toEqual([]);
});
