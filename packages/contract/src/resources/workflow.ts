import { z } from 'zod';
import { WorkflowStatus } from '../enums.js';
import { LIMITS } from '../limits.js';
import { pagination, WorkflowStepSummary } from './message.js';
import { Id, Timestamp } from './primitives.js';

const workflow = {
  id: Id.meta({ description: 'The `workflow_id` of its message.' }),
  conversation_id: Id.meta({ description: 'Where the results will be reported.' }),
  message_id: Id.meta({
    description:
      'The message that shows the workflow. To stop it cancels the workflow, and to delete it deletes the workflow.',
  }),
  name: z.string().meta({ description: `A title for display, up to ${LIMITS.workflowName} characters.` }),
  agent_slug: z.string().meta({ description: 'The agent that started the workflow and reports its results.' }),
  status: WorkflowStatus.meta({ description: 'How far the whole plan is.' }),
  created_at: Timestamp.meta({ description: 'When the agent started it.' }),
  finished_at: Timestamp.nullable().meta({ description: 'Null while the workflow is running.' }),
};

export const WorkflowSummary = z
  .strictObject({
    ...workflow,
    steps: z.array(WorkflowStepSummary).max(LIMITS.workflowSteps).meta({ description: 'In the order of the plan.' }),
  })
  .meta({ id: 'WorkflowSummary', description: 'A plan of steps that agents work on in the background.' });
export type WorkflowSummary = z.output<typeof WorkflowSummary>;

export const WorkflowPage = z
  .strictObject({
    data: z.array(WorkflowSummary).meta({ description: 'The workflows of this page, newest first.' }),
    pagination,
  })
  .meta({ id: 'WorkflowPage', description: 'A part of the workflows of a workspace.' });
export type WorkflowPage = z.output<typeof WorkflowPage>;

export const WorkflowStep = z
  .strictObject({
    ...WorkflowStepSummary.shape,
    task: z.string().meta({ description: 'What the agent is asked to do, as a model wrote it.' }),
    after: z.array(z.string()).meta({ description: 'The ids of the steps that must be completed first.' }),
    result: z
      .string()
      .nullable()
      .meta({
        description:
          'The result, or why the step failed; null until the step ends. Untrusted Markdown as the model wrote it. Do not ' +
          'render HTML, and do not load images or links automatically.',
      }),
  })
  .meta({ id: 'WorkflowStep', description: 'A part of a workflow with its task and result.' });
export type WorkflowStep = z.output<typeof WorkflowStep>;

export const Workflow = z
  .strictObject({
    ...workflow,
    steps: z.array(WorkflowStep).max(LIMITS.workflowSteps).meta({ description: 'In the order of the plan.' }),
  })
  .meta({ id: 'Workflow', description: 'A workflow with the results of its steps.' });
export type Workflow = z.output<typeof Workflow>;
