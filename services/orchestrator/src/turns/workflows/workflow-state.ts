import { LIMITS } from '@uswarm/contract';

/** A state machine over the workflow's steps. All functions are pure: they return the next state. */

export type StepStatus = 'pending' | 'running' | 'completed' | 'failed';
export type WorkflowStatus = 'running' | 'completed' | 'failed' | 'cancelled';

export interface StepState {
  id: string;
  /** Must be completed before this step starts. */
  after: readonly string[];
  status: StepStatus;
}

export interface WorkflowState {
  status: WorkflowStatus;
  /** In plan order, in which ready steps start. */
  steps: readonly StepState[];
}

export type StepEnd = 'completed' | 'failed' | 'stopped';

const withStatus = (step: StepState, status: StepStatus): StepState =>
  step.status === status ? step : { ...step, status };

/** Fails the pending steps that need a failed one, directly or through others. */
function failDependents(steps: readonly StepState[]): readonly StepState[] {
  const failed = new Set(steps.filter(({ status }) => status === 'failed').map(({ id }) => id));
  const next = steps.map((step) =>
    step.status === 'pending' && step.after.some((id) => failed.has(id)) ? withStatus(step, 'failed') : step,
  );
  return next.some((step, index) => step !== steps[index]) ? failDependents(next) : next;
}

function startReady(steps: readonly StepState[]): readonly StepState[] {
  const completed = new Set(steps.filter(({ status }) => status === 'completed').map(({ id }) => id));
  let free: number = LIMITS.parallelSteps - steps.filter(({ status }) => status === 'running').length;
  return steps.map((step) => {
    if (step.status !== 'pending' || free <= 0 || !step.after.every((id) => completed.has(id))) return step;
    free -= 1;
    return withStatus(step, 'running');
  });
}

function settled({ status, steps }: WorkflowState): WorkflowState {
  if (status !== 'running') return { status, steps };
  const next = startReady(failDependents(steps));
  if (next.some((step) => step.status === 'pending' || step.status === 'running')) return { status, steps: next };
  return { status: next.every((step) => step.status === 'completed') ? 'completed' : 'failed', steps: next };
}

/** The first steps have started. */
export const begun = (plan: readonly Pick<StepState, 'id' | 'after'>[]): WorkflowState =>
  settled({ status: 'running', steps: plan.map(({ id, after }) => ({ id, after, status: 'pending' })) });

/** No further step starts after a cancellation. Running steps end when their agents have stopped. */
export const cancelled = (state: WorkflowState): WorkflowState =>
  state.status === 'running'
    ? {
        status: 'cancelled',
        steps: state.steps.map((step) => (step.status === 'pending' ? withStatus(step, 'failed') : step)),
      }
    : state;

/** A step that the user stopped cancels the workflow. */
export function stepEnded(state: WorkflowState, stepId: string, end: StepEnd): WorkflowState {
  const steps = state.steps.map((step) =>
    step.id === stepId && step.status === 'running'
      ? withStatus(step, end === 'completed' ? 'completed' : 'failed')
      : step,
  );
  const next = { ...state, steps };
  return end === 'stopped' ? cancelled(next) : settled(next);
}
