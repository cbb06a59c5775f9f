import type { MessageContent, Workflow, WorkflowStepSummary, WorkflowSummary } from '@uswarm/contract';
import type { StepRow, StepSummaryRow, WorkflowRow } from './workflows.store.js';

const time = (date: Date | null): string | null => date?.toISOString() ?? null;

const stepSummary = (step: StepSummaryRow): WorkflowStepSummary => ({
  step_id: step.step_id,
  name: step.name,
  status: step.status,
  agent_slug: step.agent_slug,
  started_at: time(step.started_at),
  finished_at: time(step.finished_at),
});

const fieldsOf = (workflow: WorkflowRow) => ({
  id: workflow.id,
  conversation_id: workflow.conversation_id,
  message_id: workflow.message_id,
  name: workflow.name,
  agent_slug: workflow.agent_slug,
  status: workflow.status,
  created_at: workflow.created_at.toISOString(),
  finished_at: time(workflow.finished_at),
});

export const summaryView = (workflow: WorkflowRow, steps: readonly StepSummaryRow[]): WorkflowSummary => ({
  ...fieldsOf(workflow),
  steps: steps.map(stepSummary),
});

export const workflowView = (workflow: WorkflowRow, steps: readonly StepRow[]): Workflow => ({
  ...fieldsOf(workflow),
  steps: steps.map((step) => ({ ...stepSummary(step), task: step.task, after: step.after, result: step.result })),
});

/** A workflow is executed once, so both ids are the same. */
export const contentOf = (
  { id, name, status }: Pick<WorkflowRow, 'id' | 'name' | 'status'>,
  steps: readonly StepRow[],
): MessageContent & { type: 'workflow' } => ({
  type: 'workflow',
  workflow_id: id,
  workflow_name: name,
  execution_id: id,
  status,
  steps: steps.map(stepSummary),
});
