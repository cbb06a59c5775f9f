import { describe, expect, it } from '@jest/globals';
import type { ModelServerRequest, ModelStep, ReceivedRequest } from '@uswarm/dev-servers';
import { createPlanScript, messageOf, type PlannedRequest, plannedRequest, type TurnPlan } from './plan.js';

const PLAN: TurnPlan = { id: 'turn-1', calls: 2, tool: 'web_search_tool', stalls: false, chunks: 3, paceMs: 50 };

type Messages = ModelServerRequest['messages'];

const user = (content: string): Messages[number] => ({ role: 'user', content });
const withResults = (plan: TurnPlan, results: number): Messages => [
  { role: 'system', content: 'You are an agent.' },
  user(`<context>\nToday.\n</context>\n${messageOf(plan)}`),
  ...Array.from({ length: results }, (_, n): Messages => [
    { role: 'assistant', content: '' },
    { role: 'tool', content: `Result ${n}`, tool_call_id: String(n) },
  ]).flat(),
];

describe('the plan of a turn', () => {
  it('is read from the last message of the user that has one, with the results after it', () => {
    const earlier = withResults({ ...PLAN, id: 'turn-0' }, 2);
    const messages = [...earlier, ...withResults(PLAN, 1), user('Approve')];
    expect(plannedRequest({ messages })).toEqual({ plan: PLAN, results: 1 });
  });

  it('is missing in a request without one', () => {
    expect(plannedRequest({ messages: [user('Write a title.')] })).toBeUndefined();
  });
});

describe('the script of the plans', () => {
  function createFixture(plan: TurnPlan) {
    const seen: PlannedRequest[] = [];
    const script = createPlanScript((request) => seen.push(request));
    const answer = (results: number): readonly ModelStep[] =>
      script({ model: 'm', stream: true, messages: withResults(plan, results) }, 0, {} as ReceivedRequest);
    return { seen, answer };
  }

  it('calls the tool once per step, and then streams the answer at the pace of the plan', () => {
    const { seen, answer } = createFixture(PLAN);
    const calls = [0, 1].map((results) => answer(results).find((step) => 'toolCalls' in step)?.toolCalls[0]);
    expect(calls).toMatchObject([
      { name: 'web_search_tool', arguments: { query: 'turn-1 0' } },
      { name: 'web_search_tool', arguments: { query: 'turn-1 1' } },
    ]);
    const chunk = [{ text: ' word' }, { delayMs: 50 }];
    expect(answer(2)).toEqual([...chunk, ...chunk, ...chunk]);
    expect(seen.map(({ results }) => results)).toEqual([0, 1, 2]);
  });

  it('does not answer the first request after each result if the plan stalls', () => {
    const { answer } = createFixture({ ...PLAN, stalls: true });
    const hangs = [0, 1, 1, 2, 2].map((results) => answer(results).some((step) => 'hang' in step));
    expect(hangs).toEqual([false, true, false, true, false]);
  });
});
