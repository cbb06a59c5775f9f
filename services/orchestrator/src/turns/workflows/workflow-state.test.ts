import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import fc from 'fast-check';
import { begun, cancelled, type StepEnd, stepEnded, type StepStatus, type WorkflowState } from './workflow-state.js';

const statuses = ({ steps }: WorkflowState): Record<string, StepStatus> =>
  Object.fromEntries(steps.map(({ id, status }) => [id, status]));

describe('the state of a workflow', () => {
  it('starts all steps that need no other, and the rest when what they need is completed', () => {
    const plan = [
      { id: 'a', after: [] },
      { id: 'b', after: [] },
      { id: 'c', after: ['a', 'b'] },
    ];
    const first = begun(plan);
    expect(statuses(first)).toEqual({ a: 'running', b: 'running', c: 'pending' });
    const second = stepEnded(first, 'a', 'completed');
    expect(statuses(second)).toEqual({ a: 'completed', b: 'running', c: 'pending' });
    const third = stepEnded(second, 'b', 'completed');
    expect(statuses(third)).toEqual({ a: 'completed', b: 'completed', c: 'running' });
    expect(stepEnded(third, 'c', 'completed').status).toBe('completed');
  });

  it('fails the steps that need a failed one, and continues with the others', () => {
    const plan = [
      { id: 'a', after: [] },
      { id: 'b', after: ['a'] },
      { id: 'c', after: ['b'] },
      { id: 'd', after: [] },
    ];
    const failed = stepEnded(begun(plan), 'a', 'failed');
    expect(failed.status).toBe('running');
    expect(statuses(failed)).toEqual({ a: 'failed', b: 'failed', c: 'failed', d: 'running' });
    expect(stepEnded(failed, 'd', 'completed').status).toBe('failed');
  });

  it('is cancelled when the user stops a step, and its running steps end later', () => {
    const plan = [
      { id: 'a', after: [] },
      { id: 'b', after: [] },
      { id: 'c', after: ['a'] },
    ];
    const stopped = stepEnded(begun(plan), 'a', 'stopped');
    expect(stopped.status).toBe('cancelled');
    expect(statuses(stopped)).toEqual({ a: 'failed', b: 'running', c: 'failed' });
    const last = stepEnded(stopped, 'b', 'completed');
    expect(last.status).toBe('cancelled');
    expect(statuses(last)).toEqual({ a: 'failed', b: 'completed', c: 'failed' });
  });
});

type Move = { kind: 'end'; pick: number; end: StepEnd } | { kind: 'cancel' };

function brokenRules(state: WorkflowState): string[] {
  const status = statuses(state);
  const all = Object.values(status);
  const running = all.filter((one) => one === 'running').length;
  const isOpen = all.some((one) => one === 'pending' || one === 'running');
  const rules: Record<string, boolean> = {
    'at most five steps run': running <= LIMITS.parallelSteps,
    'a running workflow has an open step': state.status !== 'running' || isOpen,
    'all steps of a completed workflow are completed':
      state.status !== 'completed' || all.every((one) => one === 'completed'),
    'no step of a failed workflow is open': state.status !== 'failed' || !isOpen,
    'a failed workflow has a failed step': state.status !== 'failed' || all.includes('failed'),
  };
  for (const { id, after } of state.steps) {
    const needed = after.map((other) => status[other]);
    const isReady = needed.every((one) => one === 'completed');
    const hasStarted = status[id] === 'running' || status[id] === 'completed';
    const isPending = status[id] === 'pending';
    rules[`${id} starts after the steps that it needs`] = !hasStarted || isReady;
    rules[`${id} is pending only in a running workflow`] = !isPending || state.status === 'running';
    rules[`${id} does not wait for a failed step`] = !isPending || !needed.includes('failed');
    // A step waits only for other steps, or for a free place.
    rules[`${id} starts when it is ready`] = !isPending || !isReady || running === LIMITS.parallelSteps;
  }
  return Object.keys(rules).filter((rule) => rules[rule] !== true);
}

const RANK: Record<StepStatus, number> = { pending: 0, running: 1, completed: 2, failed: 2 };

/** Steps that went back to an earlier status. */
const wentBack = (before: WorkflowState, after: WorkflowState): string[] =>
  after.steps.flatMap(({ id, status }, index) => {
    const earlier = before.steps[index]?.status ?? 'pending';
    return status === earlier || RANK[status] > RANK[earlier] ? [] : [id];
  });

/** Without cycles: a step can wait only for earlier ones. */
const plans = fc
  .array(fc.infiniteStream(fc.boolean()), { minLength: 1, maxLength: LIMITS.workflowSteps })
  .map((edges) =>
    edges.map((needs, index) => ({
      id: `s${index}`,
      after: Array.from({ length: index }, (_, other) => `s${other}`).filter(() => needs.next().value === true),
    })),
  );
const moves = fc.array(
  fc.oneof(
    {
      weight: 20,
      arbitrary: fc.record({
        kind: fc.constant('end' as const),
        pick: fc.nat(),
        end: fc.constantFrom<StepEnd>('completed', 'completed', 'completed', 'failed', 'stopped'),
      }),
    },
    { weight: 1, arbitrary: fc.constant({ kind: 'cancel' as const }) },
  ),
);

function next(state: WorkflowState, move: Move): WorkflowState {
  if (move.kind === 'cancel') return cancelled(state);
  const running = state.steps.filter(({ status }) => status === 'running');
  const step = running[move.pick % Math.max(1, running.length)];
  return step === undefined ? state : stepEnded(state, step.id, move.end);
}

describe('the state of a workflow after any schedule', () => {
  it('is consistent, and no step goes back', () => {
    fc.assert(
      fc.property(plans, moves, (plan, schedule) => {
        let state = begun(plan);
        expect(brokenRules(state)).toEqual([]);
        for (const move of schedule as Move[]) {
          const before = state;
          state = next(state, move);
          expect({ broken: brokenRules(state), back: wentBack(before, state) }).toEqual({ broken: [], back: [] });
          expect(before.status === 'running' || state.status === before.status).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('ends after as many ends of steps as it has steps', () => {
    fc.assert(
      fc.property(plans, fc.infiniteStream(fc.record({ pick: fc.nat(), completes: fc.boolean() })), (plan, ends) => {
        let state = begun(plan);
        for (let count = 0; state.status === 'running'; count += 1) {
          expect(count).toBeLessThan(plan.length);
          const { pick, completes } = ends.next().value as { pick: number; completes: boolean };
          state = next(state, { kind: 'end', pick, end: completes ? 'completed' : 'failed' });
        }
      }),
    );
  });

  it('does not change if the end of a step is repeated', () => {
    fc.assert(
      fc.property(plans, moves, fc.nat(), (plan, schedule, pick) => {
        const state = (schedule as Move[]).reduce(next, begun(plan));
        const ended = state.steps.filter(({ status }) => status === 'completed' || status === 'failed');
        fc.pre(ended.length > 0);
        const { id } = ended[pick % ended.length]!;
        expect(stepEnded(state, id, 'completed')).toEqual(state);
      }),
    );
  });
});
