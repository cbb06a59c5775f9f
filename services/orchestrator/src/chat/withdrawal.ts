import type { Transaction, WithTransaction } from '../platform/database/database.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import type { AgentStatuses } from '../records/agent-statuses.js';
import type { Approvals } from '../turns/approvals/approvals.js';
import type { Delegations } from '../turns/delegations/delegations.js';
import { findFirstText } from './conversations.store.js';
import { titleOf } from '../records/title.js';
import type { EventLog } from '../records/event-log.js';
import type { CancelRuntimeTurn } from '../turns/cancel-runtime-turn.js';
import type { TurnMetrics } from '../turns/turn-metrics.js';
import { SUMMARY_JOB, TITLE_JOB } from '../turns/summaries/follow-ups.js';
import { forgetSummary } from '../turns/summaries/summaries.store.js';
import { TURN_JOB } from '../records/turn-job.js';
import { isUnfinished } from '../turns/turn-status.js';
import type { Workflows } from '../turns/workflows/workflows.js';
import {
  type ConcernedTurn,
  findConcernedTurns,
  removeMessagesById,
  findMessageSeq,
} from '../records/message-changes.store.js';
import { finishTurn } from '../records/turn-rows.js';
import { setTitleFromMessage } from '../records/conversation-rows.js';

export interface WithdrawalDeps {
  withTransaction: WithTransaction;
  jobs: Pick<JobQueue, 'lockAll' | 'remove' | 'enqueue'>;
  statuses: Pick<AgentStatuses, 'refreshWorkspace'>;
  approvals: Pick<Approvals, 'withdraw'>;
  tasks: Pick<Delegations, 'abandon'>;
  workflows: Pick<Workflows, 'withdraw'>;
  events: Pick<EventLog, 'append' | 'lock'>;
  stopInRuntime: CancelRuntimeTurn;
  metrics?: TurnMetrics;
}

export interface MessageContext {
  messageId: string;
  workspaceId: string;
  conversationId: string;
}

/** The steps of a transaction that withdraws messages, in the order in which they take their locks. */
export interface Withdrawal {
  /** The turns of the message. Unfinished turns are locked until the transaction ends. */
  turns: readonly ConcernedTurn[];
  /**
   * Ends the unfinished turns. Locks the workspace, which blocks sends to the conversation until the transaction ends,
   * and withdraws cards that no turn continues without the withdrawn messages.
   */
  end(turns: readonly ConcernedTurn[], withdrawn: readonly string[]): Promise<void>;
  /** Deletes messages and appends an event per message. Call it after `end`. @returns the ids that existed */
  remove(messageIds: readonly string[]): Promise<string[]>;
}

/**
 * Runs a transaction that withdraws a message or its answers, then notifies the runtime and the clients. `before` runs
 * first, for locks that precede those of turns. The lock order is that of turns: work, workspace, messages, agents.
 */
export type Withdraw = <Result>(
  context: MessageContext,
  run: (withdrawal: Withdrawal, tx: Transaction) => Promise<Result>,
  before?: (tx: Transaction) => Promise<void>,
) => Promise<Result>;

/** Another turn of the message was queued after its turns were locked. */
class TurnsChanged extends Error {
  override name = 'TurnsChanged';
}

const ATTEMPTS = 5;

export function createWithdraw(deps: WithdrawalDeps): Withdraw {
  const { withTransaction, jobs, approvals, events } = deps;

  async function lockTurns(messageId: string, tx: Transaction): Promise<ConcernedTurn[]> {
    const seen = (await findConcernedTurns(tx, messageId)).filter(isUnfinished).map(({ id }) => id);
    await jobs.lockAll(TURN_JOB, seen, tx);
    // Turns may have ended while this transaction waited for the locks.
    const locked = await findConcernedTurns(tx, messageId);
    if (locked.some((turn) => isUnfinished(turn) && !seen.includes(turn.id))) throw new TurnsChanged();
    return locked;
  }

  /** @param cancelled the unfinished turns that the withdrawal ends are added to it */
  async function begin(context: MessageContext, cancelled: ConcernedTurn[], tx: Transaction): Promise<Withdrawal> {
    const { messageId, workspaceId, conversationId } = context;
    // A summary or title that is being written may quote the message.
    await jobs.remove(SUMMARY_JOB, [conversationId], tx);
    await jobs.remove(TITLE_JOB, [conversationId], tx);
    const locked = await lockTurns(messageId, tx);
    const unfinished = new Set(locked.filter(isUnfinished).map(({ id }) => id));
    return {
      turns: locked,

      async end(ended, withdrawn) {
        cancelled.push(...ended.filter(isUnfinished));
        const ids = cancelled.map(({ id }) => id);
        await jobs.remove(TURN_JOB, ids, tx);
        // Turns are queued only under this lock, so no turn can be added after this check.
        await events.lock(workspaceId, tx);
        const isKnown = (turn: ConcernedTurn): boolean =>
          isUnfinished(turn) ? unfinished.has(turn.id) : locked.some(({ id }) => id === turn.id);
        if (!(await findConcernedTurns(tx, messageId)).every(isKnown)) throw new TurnsChanged();
        const without = { turnIds: ended.map(({ id }) => id), messageIds: withdrawn };
        // Before the cards of its steps are closed: without them, a step would continue.
        await deps.workflows.withdraw(without, tx);
        // Before `finish`, which deletes the calls that were executed.
        await approvals.withdraw(without, tx);
        for (const id of ids) await finishTurn(tx, id, { status: 'stopped', errorCode: null });
        // The deletion of a user message deletes all its turns.
        const gone = locked.filter(({ userMessageId }) => withdrawn.includes(userMessageId));
        const all = new Set([...ended, ...gone].map((turn) => turn.id));
        for (const id of all) await deps.tasks.abandon(id, all, tx);
      },

      async remove(messageIds) {
        const removed = await removeMessagesById(tx, messageIds);
        for (const subjectId of messageIds.filter((id) => removed.includes(id))) {
          await events.append({ workspaceId, type: 'message.deleted', subjectId, conversationId }, tx);
        }
        return removed;
      },
    };
  }

  function notify(workspaceId: string, cancelled: readonly ConcernedTurn[]): void {
    for (const turn of cancelled) {
      deps.stopInRuntime(workspaceId, turn);
      deps.metrics?.ended({ created_at: turn.createdAt }, { turnStatus: 'stopped', errorCode: null });
    }
  }

  return async (context, run, before) => {
    const { workspaceId, conversationId } = context;
    for (let attempt = 1; ; attempt += 1) {
      try {
        let cancelled: ConcernedTurn[] = [];
        const result = await withTransaction(async (tx) => {
          cancelled = [];
          await before?.(tx);
          const withdrawal = await begin(context, cancelled, tx);
          const messageSeq = (await findMessageSeq(tx, context.messageId)) ?? 0;
          const done = await run(withdrawal, tx);
          // The title may quote the deleted or edited message.
          const title = titleOf((await findFirstText(tx, conversationId)) ?? '') ?? null;
          await setTitleFromMessage(tx, conversationId, { title, messageSeq });
          if (await forgetSummary(tx, conversationId, messageSeq)) {
            await jobs.enqueue({ kind: SUMMARY_JOB, subjectId: conversationId, workspaceId }, tx);
          }
          // Last message, unread count and preview may have changed.
          await events.append({ workspaceId, type: 'conversation.updated', subjectId: conversationId }, tx);
          await events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
          await deps.statuses.refreshWorkspace(workspaceId, tx);
          return done;
        });
        notify(workspaceId, cancelled);
        return result;
      } catch (error) {
        if (!(error instanceof TurnsChanged) || attempt === ATTEMPTS) throw error;
      }
    }
  };
}
