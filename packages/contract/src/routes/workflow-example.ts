import type { Workflow, WorkflowSummary } from '../resources/workflow.js';
import { EXAMPLE, MORNING, workflowSteps, inWorkspace } from './examples.js';

export const workflowSummary: WorkflowSummary = {
  id: EXAMPLE.workflowId,
  conversation_id: EXAMPLE.conversationId,
  message_id: EXAMPLE.replyId,
  name: 'Plan a trip',
  agent_slug: 'manager',
  status: 'running',
  created_at: MORNING,
  finished_at: null,
  steps: workflowSteps,
};

export const workflow: Workflow = {
  ...workflowSummary,
  steps: workflowSteps.map((step) =>
    step.step_id === 'trains'
      ? { ...step, task: 'Find trains to Lyon on Friday.', after: [], result: 'There is a train at 9:07.' }
      : { ...step, task: 'Write a plan with these trains.', after: ['trains'], result: null },
  ),
};

export const inWorkflow = { ...inWorkspace, id: EXAMPLE.workflowId };
