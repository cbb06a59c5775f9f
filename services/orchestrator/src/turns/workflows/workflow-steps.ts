import type { WorkflowState } from './workflow-state.js';
import type { StepRow, WorkflowRow } from './workflows.store.js';

export const stateOf = ({ status }: Pick<WorkflowRow, 'status'>, steps: readonly StepRow[]): WorkflowState => ({
  status,
  steps: steps.map(({ step_id, after, status: ofStep }) => ({ id: step_id, after, status: ofStep })),
});

function reasonOf({ after }: StepRow, { status, steps }: WorkflowState): string {
  if (status === 'cancelled') return 'Not started, because the workflow was cancelled.';
  const failed = steps.find(({ id, status: ofStep }) => ofStep === 'failed' && after.includes(id));
  return `Not started, because the step “${failed?.id}” failed.`;
}

/** Pure. @param results by step id, for ended steps */
export function moved(
  steps: readonly StepRow[],
  next: WorkflowState,
  results: ReadonlyMap<string, string>,
  now: Date,
): StepRow[] {
  return steps.map((step, index) => {
    const status = next.steps[index]?.status ?? step.status;
    if (status === step.status) return step;
    if (status === 'running') return { ...step, status, started_at: now };
    return { ...step, status, finished_at: now, result: results.get(step.step_id) ?? reasonOf(step, next) };
  });
}
