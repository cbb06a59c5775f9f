import { describe, expect, it } from '@jest/globals';
import { LIMITS } from '@uswarm/contract';
import fc from 'fast-check';
import { begun, cancelled, type StepEnd, stepEnded, type StepStatus, type WorkflowState } from './workflow-state.js';

const statuses = ({ steps }: WorkflowState): Record<string, StepStatus> =>
  Object.fromEntries(steps.map(({ id, status }) => [id, status]));

describe('the state of a workflow', () => {
  it('starts all steps that wait for nothing, and the others when what they need is completed', () => {
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

/** What a random schedule does next. */
type Move = { kind: 'end'; pick: number; end: StepEnd } | { kind: 'cancel' };

/** The specification, written as rules about one step: whether it may be in a status. */
function expectConsistent(state: WorkflowState): void {
  const status = statuses(state);
  const running = state.steps.filter((step) => step.status === 'running');
  expect(running.length).toBeLessThanOrEqual(LIMITS.parallelSteps);
  for (const { id, after } of state.steps) {
    const needed = after.map((other) => status[other]);
    if (status[id] === 'running' || status[id] === 'completed')
      expect(needed.every((one) => one === 'completed')).toBe(true);
    if (status[id] === 'pending') {
      expect(state.status).toBe('running');
      expect(needed).not.toContain('failed');
      // A step waits only for other steps, or for a free place.
      const isReady = needed.every((one) => one === 'completed');
      if (isReady) expect(running).toHaveLength(LIMITS.parallelSteps);
    }
  }
  const open = state.steps.some((step) => step.status === 'pending' || step.status === 'running');
  if (state.status === 'running') expect(open).toBe(true);
  if (state.status === 'completed') expect(Object.values(status).every((one) => one === 'completed')).toBe(true);
  if (state.status === 'failed') {
    expect(open).toBe(false);
    expect(Object.values(status)).toContain('failed');
  }
}

const RANK: Record<StepStatus, number> = { pending: 0, running: 1, completed: 2, failed: 2 };

/** A plan without cycles: a step can wait only for earlier ones. */
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
        expectConsistent(state);
        for (const move of schedule as Move[]) {
          const before = state;
          state = next(state, move);
          expectConsistent(state);
          for (const [index, { status }] of state.steps.entries()) {
            const earlier = before.steps[index]!.status;
            expect(status === earlier || RANK[status] > RANK[earlier]).toBe(true);
          }
          if (before.status !== 'running') expect(state.status).toBe(before.status);
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
        const step = ended[pick % Math.max(1, ended.length)];
        if (step !== undefined) expect(stepEnded(state, step.id, 'completed')).toEqual(state);
      }),
    );
  });
});
