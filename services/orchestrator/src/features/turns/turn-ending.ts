import { messageError, type MessageStatus } from '@uswarm/contract';
import type { Transaction } from '../../database/database.js';
import type { TurnStatus } from '../../database/schema.js';
import type { JobStore, LeasedJob } from '../../jobs/job-store.js';
import type { AgentStatuses } from '../agents/agent-statuses.js';
import type { EventStore } from '../events/events.store.js';
import type { PushJobs } from '../push/push-jobs.js';
import { isBackground, type TaskOwner, type TaskResult } from './background-turns.js';
import type { TurnLeftovers } from './turn-leftovers.js';
import type { TurnMessagesDeps } from './turn-messages.js';
import type { TurnRow, TurnStore } from './turns.store.js';

/** State after a turn has ended. */
export interface Ended {
  seq: number;
}

export interface FinishedReply {
  turnStatus: Exclude<TurnStatus, 'queued' | 'running'>;
  messageStatus: MessageStatus;
  text: string;
  errorCode: string | null;
}

export interface TurnEndingDeps {
  jobs: Pick<JobStore, 'complete'>;
  turns: Pick<TurnStore, 'suspend' | 'finish'>;
  messages: Pick<TurnMessagesDeps['messages'], 'update'>;
  events: Pick<EventStore, 'append' | 'lock'>;
  statuses: Pick<AgentStatuses, 'refreshAgent'>;
  tasks: TaskOwner;
  push: PushJobs;
}

/** The final state of the reply of a turn that waits for the user. */
export const answeredReply = (text: string) =>
  ({ turnStatus: 'done', messageStatus: text === '' ? 'silent' : 'delivered', text, errorCode: null }) as const;

/** A suspended turn has another reply later, or a card that is announced. The user knows of a stop. */
const isAnnounced = ({ turnStatus, messageStatus }: FinishedReply, isSuspended: boolean): boolean =>
  !isSuspended && turnStatus !== 'stopped' && messageStatus !== 'silent' && messageStatus !== 'delegated';

/** What a background turn reports about its end. Pure. */
function taskResult({ turnStatus, text, errorCode }: FinishedReply): TaskResult {
  if (turnStatus === 'done') return { status: 'completed', text };
  if (turnStatus === 'stopped') return { status: 'stopped', text };
  const why = messageError(errorCode ?? 'internal_error').message;
  return { status: 'failed', text: text === '' || text === why ? why : `${why}\n${text}` };
}

/**
 * Creates the function that ends a turn and its job, or suspends it, and shows the end. Call it under the lease of the turn.
 */
export function createTurnEnding(deps: TurnEndingDeps, turn: TurnRow, job: LeasedJob, leftovers: TurnLeftovers) {
  const { turns, messages, events, statuses } = deps;
  const workspaceId = turn.workspace_id;
  const append = (type: 'message.updated' | 'message.done', subjectId: string, tx: Transaction): Promise<number> =>
    events.append({ workspaceId, type, subjectId }, tx);

  /** Ends or suspends the turn, after the workspace is locked, as for every decision. */
  async function endTurn(
    { turnStatus, errorCode }: Pick<FinishedReply, 'turnStatus' | 'errorCode'>,
    tx: Transaction,
    isSuspended: boolean,
  ): Promise<void> {
    if (isSuspended) return turns.suspend(turn.id, tx);
    await leftovers.closeApprovals(tx);
    await deps.tasks.cancel(turn.id, tx);
    await turns.finish(turn.id, turnStatus, errorCode, tx);
  }

  /** Ends a background turn, which has no reply. */
  async function endTask(reply: FinishedReply, tx: Transaction, isSuspended: boolean): Promise<Ended> {
    await leftovers.endTools(tx);
    await deps.jobs.complete(job, tx);
    await events.lock(workspaceId, tx);
    await endTurn(reply, tx, isSuspended);
    const seq = isSuspended ? undefined : await deps.tasks.ended(turn, taskResult(reply), tx);
    await statuses.refreshAgent(turn.agent_id, tx, turn.conversation_id);
    return { seq: seq ?? 0 };
  }

  return async function endReply(reply: FinishedReply, tx: Transaction, isSuspended = false): Promise<Ended> {
    if (isBackground(turn)) return endTask(reply, tx, isSuspended);
    const { turnStatus, messageStatus, text, errorCode } = reply;
    const replyId = turn.reply_message_id;
    if (replyId === null) throw new Error('the turn has no reply yet');
    await leftovers.endTools(tx);
    await deps.jobs.complete(job, tx);
    const shownSeq = await append('message.updated', replyId, tx);
    await endTurn(reply, tx, isSuspended);
    const failed = messageStatus === 'failed' || messageStatus === 'incomplete';
    const why = errorCode ?? (turnStatus === 'stopped' ? 'stopped' : 'internal_error');
    const change = { status: messageStatus, errorCode: failed ? messageError(why).code : null, shownSeq };
    await messages.update(replyId, { content: { type: 'text', text }, ...change }, tx);
    const seq = await append('message.done', replyId, tx);
    if (isAnnounced(reply, isSuspended)) await deps.push.announce({ messageId: replyId, workspaceId, seq }, tx);
    await statuses.refreshAgent(turn.agent_id, tx, turn.conversation_id);
    return { seq };
  };
}
