import { messageError, type MessageStatus } from '@uswarm/contract';
import type { Transaction } from '../../../database/database.js';
import type { TurnStatus } from '../../../database/schema.js';
import type { AgentStatuses } from '../../agents/agent-statuses.js';
import type { EventStore } from '../../events/events.store.js';
import type { PushJobs } from '../../push/push-jobs.js';
import { isBackground, type TaskOwner, type TaskResult } from '../background-turns.js';
import type { TurnLeftovers } from './turn-leftovers.js';
import type { Unfinished } from './turn-ends.store.js';
import type { TurnRow, TurnStore } from '../turns.store.js';

/** State after a turn has ended. */
export interface Ended {
  seq: number;
}

export interface FinishedReply {
  turnStatus: Exclude<TurnStatus, 'queued' | 'running'>;
  messageStatus: MessageStatus;
  text: string;
  errorCode: string | null;
  /** Why a task failed, for the agent that gave it. Default: the message of the error code. */
  reason?: string;
}

export interface TurnEndingDeps {
  turns: Pick<TurnStore, 'suspend' | 'finish'>;
  events: Pick<EventStore, 'changeMessage' | 'lock'>;
  statuses: Pick<AgentStatuses, 'refreshAgent' | 'ended'>;
  tasks: TaskOwner;
  push: PushJobs;
}

/** Finds what the turn leaves unfinished. */
export type FindUnfinished = (tx: Transaction) => Promise<Unfinished>;

/** The final state of the reply of a turn that waits for the user. */
export const answeredReply = (text: string) =>
  ({ turnStatus: 'done', messageStatus: text === '' ? 'silent' : 'delivered', text, errorCode: null }) as const;

/** A suspended turn has another reply later, or a card that is announced. The user knows of a stop. */
const isAnnounced = ({ turnStatus, messageStatus }: FinishedReply, isSuspended: boolean): boolean =>
  !isSuspended && turnStatus !== 'stopped' && messageStatus !== 'silent' && messageStatus !== 'delegated';

/** What a background turn reports about its end. Pure. */
function taskResult({ turnStatus, text, errorCode, reason }: FinishedReply): TaskResult {
  if (turnStatus === 'done') return { status: 'completed', text };
  if (turnStatus === 'stopped') return { status: 'stopped', text };
  const why = reason ?? messageError(errorCode ?? 'internal_error').message;
  return { status: 'failed', text: text === '' || text === why ? why : `${why}\n${text}` };
}

/**
 * Creates the function that ends a turn, or suspends it, and shows the end. Call it under the lease of the turn, in the transaction that
 * completes its job.
 */
export function createTurnEnding(
  deps: TurnEndingDeps,
  turn: TurnRow,
  leftovers: TurnLeftovers,
  unfinishedNow: FindUnfinished,
) {
  const { turns, events, statuses } = deps;
  const workspaceId = turn.workspace_id;

  /** Ends or suspends the turn, after the workspace is locked, as for every decision. */
  async function endTurn(
    { turnStatus, errorCode }: Pick<FinishedReply, 'turnStatus' | 'errorCode'>,
    { approvals, tasks }: Pick<Unfinished, 'approvals' | 'tasks'>,
    tx: Transaction,
    { isSuspended, locksAgent = false }: { isSuspended: boolean; locksAgent?: boolean },
  ): Promise<void> {
    if (isSuspended) return turns.suspend(turn.id, tx);
    if (approvals) await leftovers.closeApprovals(tx);
    if (tasks) await deps.tasks.cancel(turn.id, tx);
    await turns.finish(turn.id, { status: turnStatus, errorCode, locksAgent }, tx);
  }

  /** Ends a background turn, which has no reply. */
  async function endTask(reply: FinishedReply, tx: Transaction, isSuspended: boolean): Promise<Ended> {
    const unfinished = await unfinishedNow(tx);
    if (unfinished.tools) await leftovers.endTools(tx);
    await events.lock(workspaceId, tx);
    await endTurn(reply, unfinished, tx, { isSuspended });
    const seq = isSuspended ? undefined : await deps.tasks.ended(turn, taskResult(reply), tx);
    await statuses.refreshAgent(turn.agent_id, tx, turn.conversation_id);
    return { seq: seq ?? 0 };
  }

  return async function endReply(reply: FinishedReply, tx: Transaction, isSuspended = false): Promise<Ended> {
    if (isBackground(turn)) return endTask(reply, tx, isSuspended);
    const { turnStatus, messageStatus, text, errorCode } = reply;
    const replyId = turn.reply_message_id;
    if (replyId === null) throw new Error('the turn has no reply yet');
    const unfinished = await unfinishedNow(tx);
    if (unfinished.tools) await leftovers.endTools(tx);
    const failed = messageStatus === 'failed' || messageStatus === 'incomplete';
    const why = errorCode ?? (turnStatus === 'stopped' ? 'stopped' : 'internal_error');
    const change = {
      content: { type: 'text', text },
      status: messageStatus,
      errorCode: failed ? messageError(why).code : null,
    } as const;
    // Cards and tasks of the turn end before the reply is done.
    const isBefore = unfinished.approvals || unfinished.tasks;
    if (isBefore) {
      await events.lock(workspaceId, tx);
      await endTurn(reply, unfinished, tx, { isSuspended });
    }
    const types = ['message.updated', 'message.done'] as const;
    const seqs = await events.changeMessage({ workspaceId, id: replyId, change, isShown: true, types }, tx);
    const seq = seqs?.at(-1) ?? 0;
    if (isAnnounced(reply, isSuspended)) await deps.push.announce({ messageId: replyId, workspaceId, seq }, tx);
    const locksAgent = !isBefore && !isSuspended;
    if (!isBefore) await endTurn(reply, unfinished, tx, { isSuspended, locksAgent });
    if (locksAgent) await statuses.ended(turn, tx);
    else await statuses.refreshAgent(turn.agent_id, tx, turn.conversation_id);
    return { seq };
  };
}
