import { randomUUIDv7 } from 'node:crypto';
import { LIMITS, type MessageContent } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import { supersedeApprovalsOf } from '../../records/approvals.store.js';
import { withdrawCards } from '../approvals/withdraw-cards.js';
import type { LiveEvent } from '../../events/event-publisher.js';
import type { EventLog } from '../../records/event-log.js';
import { findMessages } from '../../records/messages.store.js';
import type { PushJobs } from '../../records/push-jobs.js';
import { failed } from '../tools/outcomes.js';
import type { ShowMessage, ToolCall, ToolOutcome } from '../tools/platform-tool.js';
import { insertToolCall } from '../tools/tool-calls.store.js';
import { answerFields } from '../../records/answers.js';
import type { BackgroundTurns, TaskOwner, TaskResult } from '../background-turns.js';
import { type SafeMarkdown, safeContent } from '../content/reply-text.js';
import type { TurnQueue } from '../turn-queue.js';
import { isUnfinished } from '../turn-status.js';
import { type TurnRow, getTurn } from '../turns.store.js';
import { findUnallotted } from '../../metering/reservations.store.js';
import { boundedResult, type DelegationContent, endedDelegation } from './delegation-message.js';
import {
  type OpenDelegation,
  findWaitingTurn,
  findOpenDelegations,
  findDelegationOfTurn,
} from './delegations.store.js';
import { updateMessage } from '../../records/message-rows.js';
import { endDelegation, insertDelegation } from '../../records/turn-part-rows.js';
import { finishTurn, requestStop } from '../../records/turn-rows.js';

export interface DelegationsDeps {
  background: BackgroundTurns;
  queue: Pick<TurnQueue, 'continue'>;
  events: Pick<EventLog, 'append' | 'lock'>;
  push: Pick<PushJobs, 'withdraw'>;
  statuses: Pick<AgentStatuses, 'refreshWorkspace'>;
  markdown: Pick<SafeMarkdown, 'text'>;
  publish: (event: LiveEvent) => Promise<boolean>;
  ended: TaskOwner['ended'];
}

export interface DelegatedTask {
  agentId: string;
  prompt: string;
  content: DelegationContent;
}

export interface Delegations extends TaskOwner {
  /** Starts a call's task, once. @returns the sequence of its event, or why the task is not started */
  start(call: ToolCall, task: DelegatedTask, show: ShowMessage, tx: Transaction): Promise<number | ToolOutcome>;
  /**
   * Continues a suspended turn if it waits for no task, or ends it if the user stopped it. Call it after the workspace
   * is locked.
   */
  proceed(turnId: string, seq: number, tx: Transaction): Promise<void>;
  /**
   * Ends a disappearing turn's tasks, and the task that it works on. Refresh the statuses afterwards.
   *
   * @param gone the turns that disappear with it; any other turn learns that its task was stopped
   */
  abandon(turnId: string, gone: ReadonlySet<string>, tx: Transaction): Promise<void>;
  /** Ends a suspended turn that the user stopped, and its tasks. */
  stopSuspended(turnId: string, tx: Transaction): Promise<void>;
}

interface ShownTask {
  workspaceId: string;
  conversationId: string;
  messageId: string;
  answer: { turnId: string | null; inReplyTo: string | null };
}

export const DELEGATE = 'delegate';

const STOPPED: TaskResult = { status: 'stopped', text: '' };

export function outcomeOf({ status, text }: TaskResult): { text: string; failed: boolean } {
  if (status === 'completed') return { text: boundedResult(text), failed: false };
  const reason = status === 'stopped' ? 'The user stopped the task.' : 'The task failed.';
  return { text: boundedResult(text === '' ? reason : `${reason}\n${text}`), failed: true };
}

/**
 * Tokens for the next task: the rest is shared equally among the tasks that can still run beside it and the turn itself. A task that
 * waits for another one leaves the turn as much as it gets. Pure.
 */
export const shareOf = (left: number, open: number): number =>
  Math.floor(Math.max(0, left) / Math.max(2, LIMITS.parallelDelegations + 1 - open));

/** A turn's tasks run in this many lanes, one after the other in each. A turn id is random, so a key belongs to one turn. */
const laneOf = (turnId: string, open: number): string => `${turnId.slice(0, -1)}${open % LIMITS.parallelDelegations}`;

export function createDelegations(deps: DelegationsDeps): Delegations {
  const { background, queue, events } = deps;

  function announce(
    { workspaceId, conversationId, messageId, answer }: ShownTask,
    status: DelegationContent['status'],
    seq: number,
    tx: Transaction,
  ): void {
    const payload = {
      workspace_id: workspaceId,
      message_id: messageId,
      conversation_id: conversationId,
      status,
      ...answerFields(answer.turnId, answer.inReplyTo),
    };
    const header = { workspace_id: workspaceId, after_seq: seq };
    // Not awaited: a slow bus must not slow down a turn.
    tx.afterCommit(() => void deps.publish({ ...header, event: 'agent.delegation', payload }));
  }

  async function budgetFor(turnId: string, open: number, tx: Transaction): Promise<number | null> {
    const left = await findUnallotted(tx, turnId);
    return left === null ? null : shareOf(left, open);
  }

  async function show(
    { messageId }: OpenDelegation,
    { workspace_id: workspaceId, conversation_id: conversationId }: TurnRow,
    status: 'completed' | 'failed',
    tx: Transaction,
  ): Promise<number> {
    const seq = await events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);
    const [row] = await findMessages(tx, [messageId]);
    const content: MessageContent | undefined = row?.content;
    if (content?.type === 'delegation') {
      await updateMessage(tx, messageId, { content: endedDelegation(content, status) });
      const answer = { turnId: row?.answer_turn_id ?? null, inReplyTo: row?.in_reply_to ?? null };
      announce({ workspaceId, conversationId, messageId, answer }, status, seq, tx);
    }
    return seq;
  }

  async function close(delegation: OpenDelegation, turn: TurnRow, status: 'completed' | 'failed', tx: Transaction) {
    const seq = await show(delegation, turn, status, tx);
    await endDelegation(tx, delegation.turnId, status);
    return seq;
  }

  /** Ends a task and tells the turn that gave it. Locks the workspace, like everything that ends or suspends a turn. */
  async function report(task: OpenDelegation, turn: TurnRow, result: TaskResult, tx: Transaction): Promise<number> {
    const seq = await close(task, turn, result.status === 'completed' ? 'completed' : 'failed', tx);
    const { parentTurnId, callId: id } = task;
    const waiting = await findWaitingTurn(tx, parentTurnId);
    if (waiting === undefined || !(waiting.isRunning || waiting.isSuspended)) return seq;
    await insertToolCall(tx, parentTurnId, { id, tool: DELEGATE }, { ...outcomeOf(result), showsMessage: false });
    await delegations.proceed(parentTurnId, seq, tx);
    return seq;
  }

  /** Ends a waiting turn, with its cards. */
  async function endSuspended(turn: TurnRow, tx: Transaction): Promise<void> {
    await delegations.cancel(turn.id, tx);
    await withdrawCards(deps, await supersedeApprovalsOf(tx, { turnIds: [turn.id] }), tx);
    await finishTurn(tx, turn.id, { status: 'stopped', errorCode: null });
    await deps.ended(turn, STOPPED, tx);
    await deps.statuses.refreshWorkspace(turn.workspace_id, tx);
  }

  const delegations: Delegations = {
    async start(call, { agentId, prompt, content: given }, showMessage, tx) {
      const { id: callId, turnId: parentTurnId, workspaceId, conversationId, userId, userMessageId, depth } = call;
      const open = await findOpenDelegations(tx, parentTurnId);
      const budget = await budgetFor(parentTurnId, open.length, tx);
      if (budget === 0) return failed('No tokens are left for a task. Answer with what you have.');
      const content = safeContent(given, deps.markdown);
      const shown = { id: randomUUIDv7(), key: `delegation:${callId}`, agentId: call.agentId, content };
      const { id: messageId, seq } = await showMessage({ ...shown, workspaceId, conversationId }, tx);
      const task = { workspaceId, conversationId, userId, agentId, userMessageId, messageId, prompt, depth: depth + 1 };
      const turnId = await background.start({ ...task, budget }, tx, laneOf(parentTurnId, open.length));
      await insertDelegation(tx, { turnId, parentTurnId, callId, messageId });
      announce({ workspaceId, conversationId, messageId, answer: call.answer }, 'running', seq, tx);
      return seq;
    },

    async proceed(turnId, seq, tx) {
      const waiting = await findWaitingTurn(tx, turnId);
      if (waiting?.isSuspended !== true || (await findOpenDelegations(tx, turnId)).length > 0) return;
      const turn = await getTurn(tx, turnId);
      if (turn === undefined) return;
      if (waiting.stopRequested) return endSuspended(turn, tx);
      await queue.continue(turn, seq, tx);
      await deps.statuses.refreshWorkspace(turn.workspace_id, tx);
    },

    async stopSuspended(turnId, tx) {
      const turn = await getTurn(tx, turnId);
      if (turn === undefined) return;
      await events.lock(turn.workspace_id, tx);
      if ((await findWaitingTurn(tx, turnId))?.isSuspended === true) await endSuspended(turn, tx);
    },

    async abandon(turnId, gone, tx) {
      const turn = await getTurn(tx, turnId);
      if (turn === undefined) return;
      const task = await findDelegationOfTurn(tx, turnId);
      if (task !== undefined)
        await (gone.has(task.parentTurnId) ? close(task, turn, 'failed', tx) : report(task, turn, STOPPED, tx));
      await delegations.cancel(turnId, tx);
    },

    async cancel(turnId, tx) {
      for (const delegation of await findOpenDelegations(tx, turnId)) {
        const turn = await getTurn(tx, delegation.turnId);
        if (turn === undefined) continue;
        // Its worker ends the turn. Nothing waits for the result.
        if (isUnfinished(turn)) await requestStop(tx, turn.id);
        else {
          await close(delegation, turn, 'failed', tx);
          await endSuspended(turn, tx);
        }
      }
    },

    async ended(turn, result, tx) {
      const delegation = await findDelegationOfTurn(tx, turn.id);
      if (delegation === undefined) return undefined;
      return report(delegation, turn, result, tx);
    },
  };
  return delegations;
}
