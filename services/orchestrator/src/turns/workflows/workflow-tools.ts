import { LIMITS } from '@uswarm/contract';
import { WORKFLOWS_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { listMembers } from '../../records/agents.store.js';
import { oneLine } from '../../records/one-line.js';
import { failed, withOutcome } from '../tools/outcomes.js';
import { definePlatformTool, type PlatformTool } from '../tools/platform-tool.js';
import { planProblem, type PlannedStep } from './plan.js';
import type { PlannedStep as StepOfAgent, Workflows } from './workflows.js';
import { findWorkflowReportedBy } from './workflows.store.js';
import type { Database } from '../../platform/database/database.js';

export interface WorkflowToolDeps {
  database: Database;
  workflows: Pick<Workflows, 'start'>;
}

/** Characters. */
const ID_LENGTH = 40;

const Name = z.string().overwrite(oneLine).min(1).max(LIMITS.workflowName);
const Agent = z.string().overwrite((slug) => slug.trim().replace(/^@/, '').toLowerCase());
const StepId = z.string().overwrite(oneLine).min(1).max(ID_LENGTH);

const Step = z.object({
  id: StepId.describe('Unique in the workflow, such as “research”.'),
  name: Name.describe('A short name that the user sees.'),
  agent: Agent.describe('The agent that works on it, by its name after the @, without the @. You can name yourself.'),
  task: z.string().trim().min(1).max(LIMITS.taskText).describe('What to do, and what the result must contain.'),
  after: z
    .array(StepId)
    .max(LIMITS.workflowSteps)
    .optional()
    .describe(
      'The ids of the steps whose results it needs. It starts when they are completed; by default immediately.',
    ),
});

const Input = z.object({
  name: Name.describe('A short name that the user sees.'),
  steps: z
    .array(Step)
    .min(1, 'A workflow needs at least one step.')
    .max(LIMITS.workflowSteps, `A workflow has at most ${LIMITS.workflowSteps} steps. Combine some.`),
});

const toPlan = ({ steps }: z.output<typeof Input>): PlannedStep[] =>
  steps.map(({ after = [], ...step }) => ({ ...step, after }));

export function createWorkflowTools({ database, workflows }: WorkflowToolDeps): PlatformTool[] {
  const startWorkflow = definePlatformTool({
    name: 'start_workflow',
    hint: 'run long work as steps of several agents in the background',
    description:
      `Starts a workflow: up to ${LIMITS.workflowSteps} steps that agents work on in the background, at most ${LIMITS.parallelSteps} at ` +
      'the same time. Use it for work of many steps that takes long; use an answer or a single task for anything else. An ' +
      'agent knows nothing but its task and the results of the steps in “after”: include everything that it needs. The user ' +
      'sees the progress. The call returns when the workflow has started. When it ends, you receive the results.',
    switchedBy: WORKFLOWS_TOOL,
    effect: 'own',
    maxDepth: 0,
    input: Input,
    describe: ({ name }) => `Starting the workflow “${name}”`,
    changes: ({ name, steps }) =>
      Promise.resolve([
        { label: 'Name', after: name },
        ...steps.map((step) => ({ label: 'Step', after: `${step.name} (@${step.agent}): ${step.task}` })),
      ]),
    async prepare(input, call) {
      if ((await findWorkflowReportedBy(database, call.userMessageId)) !== undefined)
        return withOutcome(failed('You report the end of a workflow. Ask the user before you start another one.'));
      const plan = toPlan(input);
      const members = await listMembers(database, call.workspaceId);
      const problem = planProblem(
        plan,
        members.map(({ slug }) => slug),
      );
      if (problem !== undefined) return withOutcome(failed(`${problem} Nothing was started.`));
      const steps = plan.map(({ id, name, task, after, agent }): StepOfAgent => {
        const member = members.find(({ slug }) => slug === agent);
        if (member === undefined) throw new TypeError('the plan is not valid');
        return { step_id: id, name, task, after: [...after], agent_id: member.id, agent_slug: member.slug };
      });
      const { workspaceId, conversationId, agentId, turnId, userMessageId } = call;
      const planned = { name: input.name, workspaceId, conversationId, agentId, turnId, userMessageId, steps };
      return async (tx) => {
        const id = await workflows.start(planned, tx);
        if (id === undefined)
          return failed(`${LIMITS.runningWorkflows} workflows are running already. Wait until one has ended.`);
        const text =
          `Started the workflow ${id}. The user sees its progress. You receive the results when it has ended. Do not wait: tell ` +
          'the user in one sentence what you have started, and end your answer.';
        return { text, failed: false, showsMessage: true };
      };
    },
  });
  return [startWorkflow];
}
