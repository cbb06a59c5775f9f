import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { planProblem, type PlannedStep } from './plan.js';

const AGENTS = ['manager', 'researcher', 'writer'];
const step = (id: string, after: string[] = [], agent = 'writer'): PlannedStep => ({
  id,
  name: id,
  agent,
  task: 'Do it.',
  after,
});
const problem = (...steps: PlannedStep[]) => planProblem(steps, AGENTS);

describe('the check of a plan', () => {
  it('accepts steps whose order has no cycle', () => {
    expect(problem(step('c', ['a', 'b']), step('b', ['a']), step('a'))).toBeUndefined();
  });

  it.each([
    [
      'an unknown agent',
      [step('a', [], 'lawyer')],
      'Step “a”: there is no agent “lawyer”. The agents are “manager”, “researcher”, “writer”.',
    ],
    [
      'an unknown step',
      [step('a', ['z']), step('b')],
      'Step “a”: “after” names “z”, which is not a step. The steps are “a”, “b”.',
    ],
    ['a repeated step', [step('a'), step('b', ['a', 'a'])], 'Step “b”: “after” names “a” twice.'],
    ['two steps with one id', [step('a'), step('a')], 'Two steps have the id “a”. Give each step its own id.'],
    [
      'a step that waits for itself',
      [step('a', ['a'])],
      'Steps wait for each other: “a” after “a”. Remove one of these from “after”.',
    ],
    [
      'a cycle of three steps after a step without one',
      [step('start'), step('a', ['start', 'c']), step('b', ['a']), step('c', ['b']), step('end', ['c'])],
      'Steps wait for each other: “a” after “c” after “b” after “a”. Remove one of these from “after”.',
    ],
  ])('names %s, and what to change', (_what, steps, message) => {
    expect(problem(...steps)).toBe(message);
  });

  it('accepts exactly the plans that can be put in an order', () => {
    const ids = ['a', 'b', 'c', 'd', 'e'];
    const plan = fc.tuple(...ids.map(() => fc.subarray(ids)));
    fc.assert(
      fc.property(plan, (after) => {
        const steps = ids.map((id, index) => step(id, after[index]));
        // Removes steps that wait for no other step until none is left, or none can be removed.
        let left = steps;
        for (let size = -1; size !== left.length;) {
          size = left.length;
          const waiting = new Set(left.map(({ id }) => id));
          left = left.filter((one) => one.after.some((id) => waiting.has(id)));
        }
        expect(planProblem(steps, AGENTS) === undefined).toBe(left.length === 0);
      }),
    );
  });
});
