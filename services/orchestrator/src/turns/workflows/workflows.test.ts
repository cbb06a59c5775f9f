import { describe, expect, it } from '@jest/globals';
import type { MessageContent } from '@uswarm/contract';
import { NO_TRANSACTION } from '../../../test/transaction.js';
import { createWorkflows, type PlannedStep, type WorkflowsDeps } from './workflows.js';
import type { StepRow, WorkflowRow } from './workflows.store.js';

const NOW = new Date('2026-11-24T09:00:00Z');
const step = (step_id: string, after: string[] = []): PlannedStep => ({
  step_id,
  name: `Find ${step_id}`,
  task: `Find ${step_id} to Lyon.`,
  agent_id: 'a',
  agent_slug: 'researcher',
  after,
});
const PLACE = { workspaceId: 'w', conversationId: 'c', agentId: 'a', turnId: 't', userMessageId: 'm', name: 'Trip' };

function world() {
  const written: MessageContent[] = [];
  const started: string[] = [];
  let workflow: WorkflowRow | undefined;
  let steps: StepRow[] = [];
  const unexpected = () => Promise.reject(new Error('unexpected'));
  const store: WorkflowsDeps['store'] = {
    findWorkflow: async () => workflow,
    findWorkflowSteps: async () => steps,
    countRunningWorkflows: async () => 0,
    findStepOfTurn: unexpected,
    findStepTurns: unexpected,
    findWorkflowShownBy: unexpected,
    findWithdrawnWorkflows: unexpected,
    finishWorkflow: unexpected,
    setWorkflowReport: unexpected,
    async insertWorkflow(_db, { id, messageId, createdAt }, planned) {
      expect(planned.every((each) => !('agent_slug' in each))).toBe(true);
      workflow = {
        id,
        workspace_id: 'w',
        conversation_id: 'c',
        user_id: 'u',
        agent_id: 'a',
        agent_slug: 'manager',
        user_message_id: 'm',
        message_id: messageId,
        name: 'Trip',
        status: 'running',
        created_at: createdAt,
        finished_at: null,
      };
      const pending = { status: 'pending', turn_id: null, result: null, started_at: null, finished_at: null } as const;
      steps = planned.map((each) => ({ ...each, agent_slug: 'researcher', workflow_id: id, ...pending }));
    },
    async updateWorkflowStep(_db, _workflowId, stepId, change) {
      steps = steps.map((each) => (each.step_id === stepId ? { ...each, ...change } : each));
    },
  };
  const workflows = createWorkflows({
    store,
    background: { start: async ({ prompt }) => `turn ${started.push(prompt)}` },
    delegations: { stopSuspended: unexpected },
    queue: { follow: unexpected },
    turns: { requestStop: unexpected },
    messages: {
      updateMessage: async (_db, _id, { content }) => void (content !== undefined && written.push(content)),
    },
    events: {
      addMessage: async ({ content }) => written.push(content),
      append: async () => 1,
      lock: async () => undefined,
    },
    markdown: { text: (text) => text },
    clock: { now: () => NOW },
  });
  return { workflows, written, started, steps: () => steps };
}

describe('the start of a workflow', () => {
  it('writes its message once, with the steps that run', async () => {
    const { workflows, written, started, steps } = world();
    const id = await workflows.start({ ...PLACE, steps: [step('trains'), step('hotels', ['trains'])] }, NO_TRANSACTION);
    const [startedAt, by] = [NOW.toISOString(), { agent_slug: 'researcher', finished_at: null }];
    expect(written).toMatchObject([
      {
        type: 'workflow',
        workflow_id: id,
        status: 'running',
        steps: [
          { step_id: 'trains', status: 'running', started_at: startedAt, ...by },
          { step_id: 'hotels', status: 'pending', started_at: null, ...by },
        ],
      },
    ]);
    expect(started).toHaveLength(1);
    // The message shows what is stored.
    expect(steps()).toMatchObject([
      { status: 'running', started_at: NOW, turn_id: 'turn 1' },
      { status: 'pending', turn_id: null },
    ]);
  });
});
