import { randomUUID, randomUUIDv7 } from 'node:crypto';
import { LIMITS } from '@uswarm/contract';
import { storable, type Clock } from '@uswarm/service-kit';
import type { Transaction } from '../../platform/database/database.js';
import { boundedResult } from '../delegations/delegation-message.js';
import type { Delegations } from '../delegations/delegations.js';
import type { EventLog } from '../../records/event-log.js';
import { insertSystemMessage } from '../../records/system-message.js';
import type { BackgroundTurns, TaskOwner, TaskResult } from '../background-turns.js';
import { type SafeMarkdown, safeContent } from '../content/reply-text.js';
import type { TurnQueue } from '../turn-queue.js';
import { isUnfinished } from '../turn-status.js';
import { moved, stateOf } from './workflow-steps.js';
import { begun, cancelled, stepEnded, type WorkflowState } from './workflow-state.js';
import { endNote, stepPrompt } from './workflow-texts.js';
import { contentOf } from './workflow-view.js';
import type { NewStep, NewWorkflow, StepRow, StepTurn, Withdrawn, WorkflowRow } from './workflows.store.js';
import type * as workflowRecords from './workflows.store.js';
import type * as turnRecords from '../turns.store.js';
import type * as messageRecords from '../../records/messages.store.js';

export interface WorkflowsDeps {
  store: Pick<
    typeof workflowRecords,
    | 'findWorkflow'
    | 'findWorkflowSteps'
    | 'countRunningWorkflows'
    | 'findStepOfTurn'
    | 'findStepTurns'
    | 'findWorkflowShownBy'
    | 'findWithdrawnWorkflows'
    | 'insertWorkflow'
    | 'updateWorkflowStep'
    | 'finishWorkflow'
    | 'setWorkflowReport'
  >;
  background: BackgroundTurns;
  /** Ends step turns that wait for the user or for other agents. */
  delegations: Pick<Delegations, 'stopSuspended'>;
  queue: Pick<TurnQueue, 'follow'>;
  turns: Pick<typeof turnRecords, 'requestStop'>;
  messages: Pick<typeof messageRecords, 'updateMessage'>;
  events: Pick<EventLog, 'addMessage' | 'append' | 'lock'>;
  markdown: Pick<SafeMarkdown, 'text'>;
  clock: Clock;
}

export type PlannedStep = NewStep & Pick<StepRow, 'agent_slug'>;

export interface PlannedWorkflow extends Omit<NewWorkflow, 'id' | 'messageId' | 'createdAt'> {
  turnId: string;
  steps: readonly PlannedStep[];
}

/** Each change is one transaction, in which the next steps start. */
export interface Workflows extends TaskOwner {
  /** Starts a workflow and shows it. @returns its id; undefined if too many run in the workspace */
  start(plan: PlannedWorkflow, tx: Transaction): Promise<string | undefined>;
  /**
   * Cancels a workflow: no further step starts, and running steps' turns end soon.
   *
   * @returns these turns, which the runtime can be told to stop; undefined if the workflow has ended
   */
  stop(workspaceId: string, id: string, tx: Transaction): Promise<StepTurn[] | undefined>;
  /** Cancels the workflows that cannot continue without turns and messages that disappear. */
  withdraw(gone: Withdrawn, tx: Transaction): Promise<void>;
}

interface Snapshot {
  workflow: WorkflowRow;
  steps: StepRow[];
}

const NO_RESULTS: ReadonlyMap<string, string> = new Map();

const pending = (workflowId: string, step: PlannedStep): StepRow => ({
  ...step,
  workflow_id: workflowId,
  status: 'pending',
  turn_id: null,
  result: null,
  started_at: null,
  finished_at: null,
});

/** What a step returned, or why it failed, as later steps and the user read it. */
function resultText({ status, text }: TaskResult): string {
  const result = storable(text);
  return boundedResult(status === 'stopped' && result === '' ? 'The step was stopped.' : result);
}

export function createWorkflows(deps: WorkflowsDeps): Workflows {
  const { store, messages, events, clock } = deps;
  const shownContent = (...parts: Parameters<typeof contentOf>) => safeContent(contentOf(...parts), deps.markdown);

  /** Locks the workspace, as everything that changes a workflow does. */
  async function locked(workspaceId: string, id: string, tx: Transaction): Promise<Snapshot | undefined> {
    await events.lock(workspaceId, tx);
    const workflow = await store.findWorkflow(tx, id);
    return workflow && { workflow, steps: await store.findWorkflowSteps(tx, [id]) };
  }

  function startTurn({ workflow, steps }: Snapshot, step: StepRow, tx: Transaction): Promise<string> {
    const { workspace_id: workspaceId, conversation_id: conversationId, message_id: messageId } = workflow;
    const earlier = steps.filter(({ step_id: id }) => step.after.includes(id));
    const task = {
      workspaceId,
      conversationId,
      userId: workflow.user_id,
      agentId: step.agent_id,
      userMessageId: workflow.user_message_id ?? messageId,
      messageId,
      // The turn stores the prompt, so all of its generations read the same.
      prompt: stepPrompt(randomUUID(), workflow, step, earlier),
      depth: 1,
      // The plan's budget applies, as for a reply.
      budget: null,
    };
    return deps.background.start(task, tx);
  }

  /** Tells that a workflow has ended. The agent that started it answers with a report. */
  async function report({ id, ...workflow }: WorkflowRow, tx: Transaction): Promise<void> {
    const { workspace_id: workspaceId, conversation_id: conversationId, agent_id: agentId, user_id: userId } = workflow;
    const note = await insertSystemMessage(deps, { workspaceId, conversationId, text: endNote(workflow) }, tx);
    await store.setWorkflowReport(tx, id, note.id);
    const turn = { workspaceId, conversationId, agentId, userMessageId: note.id, userId, ordinal: note.seq };
    await deps.queue.follow(turn, tx);
  }

  async function apply(
    { workflow: before, steps: stepsBefore }: Snapshot,
    next: WorkflowState,
    results: ReadonlyMap<string, string>,
    tx: Transaction,
    now = clock.now(),
  ): Promise<Snapshot & { hasEnded: boolean }> {
    const hasEnded = before.status === 'running' && next.status !== 'running';
    const workflow = { ...before, status: next.status, finished_at: hasEnded ? now : before.finished_at };
    const steps = moved(stepsBefore, next, results, now);
    for (const [index, step] of steps.entries()) {
      if (step === stepsBefore[index]) continue;
      const { status, result, started_at, finished_at } = step;
      const turn = status === 'running' ? { turn_id: await startTurn({ workflow, steps }, step, tx) } : {};
      const change = { status, result, started_at, finished_at, ...turn };
      await store.updateWorkflowStep(tx, step.workflow_id, step.step_id, change);
    }
    if (hasEnded) await store.finishWorkflow(tx, workflow.id, workflow.status, now);
    return { workflow, steps, hasEnded };
  }

  /** @returns the sequence of its event */
  async function move(
    snapshot: Snapshot,
    next: WorkflowState,
    results: ReadonlyMap<string, string>,
    tx: Transaction,
  ): Promise<number> {
    const { workflow, steps, hasEnded } = await apply(snapshot, next, results, tx);
    const { workspace_id: workspaceId, message_id: messageId } = workflow;
    const seq = await events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);
    await messages.updateMessage(tx, messageId, { content: shownContent(workflow, steps) });
    // A user who cancels a workflow knows that it has ended.
    if (hasEnded && workflow.status !== 'cancelled') await report(workflow, tx);
    return seq;
  }

  /** @returns turns that end later */
  async function stopTurns({ workflow }: Snapshot, tx: Transaction): Promise<StepTurn[]> {
    const turns = await store.findStepTurns(tx, workflow.id);
    const stopping = turns.filter(isUnfinished);
    for (const { id } of stopping) await deps.turns.requestStop(tx, id);
    for (const { id } of turns.filter((turn) => !isUnfinished(turn))) await deps.delegations.stopSuspended(id, tx);
    return stopping;
  }

  async function cancel(snapshot: Snapshot, tx: Transaction): Promise<StepTurn[]> {
    await move(snapshot, cancelled(stateOf(snapshot.workflow, snapshot.steps)), NO_RESULTS, tx);
    return stopTurns(snapshot, tx);
  }

  return {
    async start({ steps: planned, ...plan }, tx) {
      const { workspaceId, conversationId, agentId, turnId, name } = plan;
      await events.lock(workspaceId, tx);
      if ((await store.countRunningWorkflows(tx, workspaceId)) >= LIMITS.runningWorkflows) return undefined;
      const [id, messageId, createdAt] = [randomUUIDv7(), randomUUIDv7(), clock.now()];
      const waiting = planned.map((step) => pending(id, step));
      const next = begun(stateOf({ status: 'running' }, waiting).steps);
      const content = shownContent({ id, name, status: next.status }, moved(waiting, next, NO_RESULTS, createdAt));
      const message = { id: messageId, workspaceId, conversationId, agentId, content } as const;
      // A runtime cannot write a message with such a key.
      const turn = { id: turnId, key: `platform:workflow:${id}` };
      await events.addMessage({ ...message, role: 'agent', status: 'delivered', turn }, tx);
      const steps = planned.map(({ agent_slug: _, ...step }): NewStep => step);
      await store.insertWorkflow(tx, { ...plan, id, messageId, createdAt }, steps);
      const snapshot = await locked(workspaceId, id, tx);
      if (snapshot === undefined) throw new Error('the workflow was not stored');
      await apply(snapshot, next, NO_RESULTS, tx, createdAt);
      return id;
    },

    async stop(workspaceId, id, tx) {
      const snapshot = await locked(workspaceId, id, tx);
      return snapshot?.workflow.status === 'running' ? cancel(snapshot, tx) : undefined;
    },

    async withdraw(gone, tx) {
      for (const { id, workspace_id: workspaceId } of await store.findWithdrawnWorkflows(tx, gone)) {
        const snapshot = await locked(workspaceId, id, tx);
        if (snapshot?.workflow.status === 'running') await cancel(snapshot, tx);
      }
    },

    async ended(turn, result, tx) {
      const found = await store.findStepOfTurn(tx, turn);
      const snapshot = found && (await locked(turn.workspace_id, found.workflowId, tx));
      const step = snapshot?.steps.find(({ step_id: id }) => id === found?.stepId);
      if (snapshot === undefined || step?.status !== 'running') return undefined;
      const { step_id: id } = step;
      const next = stepEnded(stateOf(snapshot.workflow, snapshot.steps), id, result.status);
      const seq = await move(snapshot, next, new Map([[id, resultText(result)]]), tx);
      // A step that the user stopped cancels the others.
      if (snapshot.workflow.status === 'running' && next.status === 'cancelled') await stopTurns(snapshot, tx);
      return seq;
    },

    // A workflow outlives the turn that started it.
    cancel: () => Promise.resolve(),
  };
}
