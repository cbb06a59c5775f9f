import { messageError, type MessageStatus } from '@uswarm/contract';
import type { Transaction } from '../../platform/database/database.js';
import type { TurnStatus } from '../../platform/database/schema.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type * as approvalRecords from '../../records/approvals.store.js';
import type { EventLog } from '../../records/event-log.js';
import type { MessageChange } from '../../records/message-rows.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { Unfinished } from '../../records/turn-rows.js';
import { isBlank } from '../../records/visible-text.js';
import { withdrawCards } from '../approvals/withdraw-cards.js';
import { isBackground, type TaskOwner, type TaskResult } from '../background-turns.js';
import { callKey, type ToolStatus, type TurnMessagesDeps, unknownLine } from '../content/turn-messages.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type * as turnRecords from '../turns.store.js';
import { endScheduleRun } from '../schedules/run-end.js';
import type { TurnRow } from '../turns.store.js';

export interface Ended {
  seq: number;
}

export interface FinishedReply {
  turnStatus: Exclude<TurnStatus, 'queued' | 'running'>;
  messageStatus: MessageStatus;
  text: string;
  errorCode: string | null;
  /** Tells the agent that gave a task why it failed. Default: the message for the error code. */
  reason?: string;
}

export interface TurnEndingDeps {
  turns: Pick<typeof turnRecords, 'finishTurn' | 'suspendTurn'>;
  events: Pick<EventLog, 'changeMessage' | 'lock' | 'addMessage'>;
  statuses: Pick<AgentStatuses, 'refreshAgent' | 'ended'>;
  tasks: TaskOwner;
  push: PushJobs;
  jobs: Pick<JobQueue, 'tryMakeDueNow'>;
}

export type AddReply = (tx: Transaction) => Promise<{ id: string; seq: number }>;

export type FindUnfinished = (tx: Transaction) => Promise<Unfinished>;

/** For a turn that waits for the user. */
export const answeredReply = (text: string) =>
  ({ turnStatus: 'done', messageStatus: 'delivered', text, errorCode: null }) as const;

const whyOf = ({ turnStatus, errorCode }: Pick<FinishedReply, 'turnStatus' | 'errorCode'>): string =>
  errorCode ?? (turnStatus === 'stopped' ? 'stopped' : 'internal_error');

/** Makes a reply without visible text silent, or has it state why it failed. */
function shownEnd(reply: FinishedReply): FinishedReply {
  if (!isBlank(reply.text)) return reply;
  const { messageStatus } = reply;
  if (messageStatus === 'failed' || messageStatus === 'incomplete')
    return { ...reply, messageStatus: 'failed', text: messageError(whyOf(reply)).message };
  return { ...reply, messageStatus: messageStatus === 'delegated' ? 'delegated' : 'silent', text: '' };
}

/** A suspended turn has another reply later, or a card that is announced. The user knows of a stop. */
const isAnnounced = ({ turnStatus, messageStatus }: FinishedReply, isSuspended: boolean): boolean =>
  !isSuspended && turnStatus !== 'stopped' && messageStatus !== 'silent' && messageStatus !== 'delegated';

/** Pure. */
function taskResult({ turnStatus, text, errorCode, reason }: FinishedReply): TaskResult {
  if (turnStatus === 'done') return { status: 'completed', text };
  if (turnStatus === 'stopped') return { status: 'stopped', text };
  const why = reason ?? messageError(errorCode ?? 'internal_error').message;
  return { status: 'failed', text: text === '' || text === why ? why : `${why}\n${text}` };
}

/** Call it under the turn's lease, in the transaction that completes its job. */
export function createTurnEnding(
  deps: TurnEndingDeps,
  turn: TurnRow,
  leftovers: TurnLeftovers,
  unfinishedNow: FindUnfinished,
  addReply: AddReply,
) {
  const { turns, events, statuses } = deps;
  const workspaceId = turn.workspace_id;

  /** Requires the workspace lock, like every decision. */
  async function endTurn(
    { turnStatus, errorCode }: Pick<FinishedReply, 'turnStatus' | 'errorCode'>,
    { approvals, tasks }: Pick<Unfinished, 'approvals' | 'tasks'>,
    tx: Transaction,
    { isSuspended, locksAgent = false }: { isSuspended: boolean; locksAgent?: boolean },
  ): Promise<void> {
    if (isSuspended) return turns.suspendTurn(tx, turn.id);
    if (approvals) await leftovers.closeApprovals(tx);
    if (tasks) await deps.tasks.cancel(turn.id, tx);
    await turns.finishTurn(tx, turn.id, { status: turnStatus, errorCode, locksAgent });
  }

  /** A background turn has no reply. */
  async function endTask(reply: FinishedReply, tx: Transaction, isSuspended: boolean): Promise<Ended> {
    const unfinished = await unfinishedNow(tx);
    if (unfinished.tools) await leftovers.endTools(tx);
    await events.lock(workspaceId, tx);
    await endTurn(reply, unfinished, tx, { isSuspended });
    const seq = isSuspended ? undefined : await deps.tasks.ended(turn, taskResult(reply), tx);
    await statuses.refreshAgent(turn.agent_id, tx, turn.conversation_id);
    return { seq: seq ?? 0 };
  }

  /** @returns the final reply; undefined if what the turn waits for has taken its place */
  async function shownReply(
    { text }: FinishedReply,
    { replyId }: Unfinished,
    isSuspended: boolean,
    tx: Transaction,
  ): Promise<string | undefined> {
    if (replyId !== null) return replyId;
    return text === '' && isSuspended ? undefined : (await addReply(tx)).id;
  }

  return async function endReply(given: FinishedReply, tx: Transaction, isSuspended = false): Promise<Ended> {
    if (isBackground(turn)) return endTask(given, tx, isSuspended);
    const reply = shownEnd(given);
    const { messageStatus, text } = reply;
    const unfinished = await unfinishedNow(tx);
    if (unfinished.tools) await leftovers.endTools(tx);
    if (turn.schedule_run_id !== null && !isSuspended && messageStatus !== 'delegated')
      await endScheduleRun(deps, { ...turn, runId: turn.schedule_run_id }, reply, tx);
    const failed = messageStatus === 'failed' || messageStatus === 'incomplete';
    const change = {
      content: { type: 'text', text },
      status: messageStatus,
      errorCode: failed ? messageError(whyOf(reply)).code : null,
    } as const;
    // The turn's cards and tasks end before the reply is done.
    const isBefore = unfinished.approvals || unfinished.tasks || unfinished.replyId === null;
    if (isBefore) {
      await events.lock(workspaceId, tx);
      await endTurn(reply, unfinished, tx, { isSuspended });
    }
    const replyId = await shownReply(reply, unfinished, isSuspended, tx);
    const types = ['message.updated', 'message.done'] as const;
    const changed = replyId !== undefined && { workspaceId, id: replyId, change, isShown: true, types };
    const seqs = changed ? await events.changeMessage(changed, tx) : undefined;
    const seq = seqs?.at(-1) ?? 0;
    if (replyId !== undefined && isAnnounced(reply, isSuspended))
      await deps.push.announce({ messageId: replyId, workspaceId, seq }, tx);
    const locksAgent = !isBefore && !isSuspended;
    if (!isBefore) await endTurn(reply, unfinished, tx, { isSuspended, locksAgent });
    if (locksAgent) await statuses.ended(turn, tx);
    else await statuses.refreshAgent(turn.agent_id, tx, turn.conversation_id);
    return { seq };
  };
}

export interface TurnLeftoversDeps extends TurnMessagesDeps {
  turns: Pick<typeof turnRecords, 'findOpenCards' | 'findRunningTools'>;
  approvals: Pick<typeof approvalRecords, 'supersedeApprovalsOf' | 'closeQuestions'>;
  receipts: Pick<ReceiptLog, 'leave'>;
  push: Pick<PushJobs, 'withdraw'>;
}

export interface TurnLeftovers {
  /** Fails tool lines that a lost runtime ran. Sent calls stay open, because their outcomes can still be found. */
  failLostTools(tx: Transaction): Promise<void>;
  /** Ends all running lines. Calls that were sent without an outcome are looked up afterwards. */
  endTools(tx: Transaction): Promise<void>;
  withdrawCards(tx: Transaction): Promise<void>;
  /** Closes approvals for calls that are not executed. Call it before the turn ends, which deletes its calls. */
  closeApprovals(tx: Transaction): Promise<void>;
  /** Withdraws a call's open questions. */
  closeQuestions(callId: string, tx: Transaction): Promise<void>;
}

const failedLine = (line: ToolStatus): ToolStatus => ({ ...line, state: 'failed' });

export function createTurnLeftovers(deps: TurnLeftoversDeps, turn: TurnRow): TurnLeftovers {
  const { turns, messages, events } = deps;

  // Appends first, because the lock order is workspace, then messages.
  async function update(id: string, change: MessageChange, tx: Transaction): Promise<void> {
    await events.append({ workspaceId: turn.workspace_id, type: 'message.updated', subjectId: id }, tx);
    await messages.updateMessage(tx, id, change);
  }

  async function endLines(lineOf: (line: ToolStatus, key: string) => ToolStatus, tx: Transaction): Promise<void> {
    for (const { id, key, content } of await turns.findRunningTools(tx, turn.id)) {
      if (content.type !== 'tool_status') continue;
      const line = lineOf(content, key);
      if (line.state !== 'running') await update(id, { content: line }, tx);
    }
  }

  return {
    failLostTools: (tx) => endLines((line, key) => (key.startsWith(callKey('')) ? line : failedLine(line)), tx),

    async endTools(tx) {
      const unknown = new Set((await deps.receipts.leave(turn.id, tx)).map(callKey));
      await endLines((line, key) => (unknown.has(key) ? unknownLine(line) : failedLine(line)), tx);
    },

    async withdrawCards(tx) {
      const cards = await turns.findOpenCards(tx, turn.id);
      const { workspace_id: workspaceId } = turn;
      await withdrawCards(
        deps,
        cards.map((messageId) => ({ messageId, workspaceId })),
        tx,
      );
    },

    closeApprovals: async (tx) =>
      withdrawCards(deps, await deps.approvals.supersedeApprovalsOf(tx, { turnIds: [turn.id] }), tx),

    closeQuestions: async (callId, tx) =>
      withdrawCards(deps, await deps.approvals.closeQuestions(tx, turn.id, callId), tx),
  };
}
