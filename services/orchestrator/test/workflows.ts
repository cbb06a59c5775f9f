import { randomUUIDv7 } from 'node:crypto';
import type { MessageContent, Workflow } from '@uswarm/contract';
import type { TaskResult } from '../src/turns/background-turns.js';
import type { FinishedReply } from '../src/turns/writer/turn-ending.js';
import type { TurnRow } from '../src/turns/turns.store.js';
import { contentOf } from '../src/turns/workflows/workflow-view.js';
import { createWorkflowTools } from '../src/turns/workflows/workflow-tools.js';
import type { LeasedJob } from '../src/platform/jobs/job-queue.js';
import { createStores, tasksOfStores } from './stores.js';
import { beginToolTurn } from './tool-turn.js';
import type { Home, TestOrchestrator } from './test-orchestrator.js';
import { withoutAfterCommit } from './transaction.js';
import type { TurnFixture } from './turn-fixture.js';
import { insertWorkflow, updateWorkflowStep } from '../src/turns/workflows/workflows.store.js';

export interface TestStep {
  id: string;
  agent?: string;
  after?: string[];
  name?: string;
  task?: string;
}

const toStep = ({ id, agent = 'researcher', name = `Step ${id}`, task = `Do ${id}.`, after }: TestStep) => ({
  id,
  agent,
  name,
  task,
  ...(after === undefined ? {} : { after }),
});

const FINISHED: Record<TaskResult['status'], Omit<FinishedReply, 'text'>> = {
  completed: { turnStatus: 'done', messageStatus: 'delivered', errorCode: null },
  failed: { turnStatus: 'failed', messageStatus: 'failed', errorCode: 'model_refused' },
  stopped: { turnStatus: 'stopped', messageStatus: 'failed', errorCode: 'stopped' },
};

/** Starts workflows through tool calls in a turn, and works on their steps in place of the workers. */
export async function beginWorkflowTurn(world: Readonly<TurnFixture>) {
  const { stores } = world.turnWorker;
  const { workflows } = tasksOfStores(stores);
  const begun = await beginToolTurn(world, createWorkflowTools({ database: stores.database, workflows }));
  const path = `/v1/workspaces/${begun.turn.workspace_id}/workflows`;

  /** The steps' unfinished turns, by step id. */
  async function turns(): Promise<Record<string, { turn: TurnRow; job: LeasedJob }>> {
    const rows = await world.uswarm.database
      .selectFrom('workflow_steps as s')
      .innerJoin('workflows as w', 'w.id', 's.workflow_id')
      .innerJoin('turns as t', 't.reply_message_id', 'w.message_id')
      .select(['s.step_id', 't.id'])
      .whereRef('t.id', '=', 's.turn_id')
      .where('w.workspace_id', '=', begun.turn.workspace_id)
      .where('t.status', 'in', ['queued', 'running'])
      .orderBy('s.number')
      .execute();
    const found: Record<string, { turn: TurnRow; job: LeasedJob }> = {};
    for (const { step_id: stepId, id } of rows) {
      const job = await stores.jobs.takeOver('turn', id, 3_600_000, world.uswarm.database);
      if (job !== undefined) found[stepId] = { job, turn: await world.turnWorker.turnOf(job) };
    }
    return found;
  }

  return {
    ...begun,
    path,
    turns,
    start: (steps: readonly TestStep[], name = 'Trip') =>
      begun.call('start_workflow', { name, steps: steps.map(toStep) }),
    async workflow(): Promise<Workflow> {
      const { body } = await world.user.get<{ data: Workflow[] }>(path);
      const [latest] = body.data;
      return (await world.user.get<{ data: Workflow }>(`${path}/${latest?.id}`)).body.data;
    },
    async statuses(): Promise<Record<string, string>> {
      const { body } = await world.user.get<{ data: Workflow[] }>(path);
      return Object.fromEntries((body.data[0]?.steps ?? []).map(({ step_id: id, status }) => [id, status]));
    },
    async end(stepId: string, status: TaskResult['status'] = 'completed', text = `Result of ${stepId}.`) {
      const running = (await turns())[stepId];
      if (running === undefined) throw new Error(`the step ${stepId} is not running`);
      const writer = await world.turnWorker.writerOf(running.job);
      await writer.begin();
      await writer.finish({ ...FINISHED[status], text });
      return running.turn;
    },
    finish: () => begun.writer.finish({ ...FINISHED.completed, text: 'Started.' }),
    /** Oldest first. */
    async messages<Type extends MessageContent['type']>(type: Type) {
      const rows = await world.uswarm.database
        .selectFrom('messages')
        .select(['id', 'content', 'role', 'status'])
        .where('conversation_id', '=', begun.turn.conversation_id)
        .orderBy('seq')
        .execute();
      return rows.flatMap((row) =>
        row.content.type === type ? [{ ...row, content: row.content as Extract<MessageContent, { type: Type }> }] : [],
      );
    },
  };
}

type Place = Pick<Home, 'workspaceId' | 'conversationId' | 'agents'>;

/** Stores the workflow's message. @returns its id */
async function storeMessage({ database }: Pick<TestOrchestrator, 'database'>, place: Place): Promise<string> {
  const { workspaceId, conversationId, agents } = place;
  const stores = createStores(database);
  const id = randomUUIDv7();
  await database.transaction().execute(async (tx) => {
    const content = contentOf({ id, name: '', status: 'running' }, []);
    const agentId = agents[0]?.id ?? '';
    const message = { id, workspaceId, conversationId, agentId, content } as const;
    await stores.events.addMessage({ ...message, role: 'agent', status: 'delivered' }, withoutAfterCommit(tx));
  });
  return id;
}

/**
 * Stores a running workflow with two steps, on which no turn works.
 *
 * @param options.messageId an existing message that shows it
 * @returns its id
 */
export async function storeWorkflow(
  uswarm: Pick<TestOrchestrator, 'database'>,
  place: Place,
  { name = 'Plan a trip', messageId: existing }: { name?: string; messageId?: string } = {},
): Promise<string> {
  const { workspaceId, conversationId, agents } = place;
  const agentId = agents[0]?.id ?? '';
  const id = randomUUIDv7();
  const messageId = existing ?? (await storeMessage(uswarm, place));
  const plan = { id, workspaceId, conversationId, agentId, turnId: null, userMessageId: null, messageId, name };
  const step = (step_id: string, after: string[] = []) => ({
    step_id,
    name: `Find ${step_id}`,
    agent_id: agentId,
    task: `Find ${step_id} to Lyon.`,
    after,
  });
  const steps = [step('trains'), step('hotels', ['trains'])];
  await insertWorkflow(uswarm.database, { ...plan, createdAt: new Date() }, steps);
  const ended = { status: 'completed', result: 'There is a train at 9:07.', finished_at: new Date() } as const;
  await updateWorkflowStep(uswarm.database, id, 'trains', ended);
  return id;
}
