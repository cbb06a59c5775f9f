import { ApiError } from '@uswarm/contract';
import { currentTraceparent } from '@uswarm/service-kit';
import pg from 'pg';
import type { Transaction, WithTransaction } from '../platform/database/database.js';
import { createGroups, SENDS } from '../platform/database/groups.js';
import { pipelined } from '../platform/database/pipelined.js';
import type { UsageLimits } from '../metering/usage-limits.js';
import type { EventLog } from '../records/event-log.js';
import type { RuntimeRequests } from '../records/runtime-requests.js';
import type { Approvals } from '../turns/approvals/approvals.js';
import { queueFull } from '../turns/turn-queue.js';
import type { TurnSignals } from '../turns/turn-signals.js';
import { resumeTurn } from '../turns/turns.store.js';
import type { Attachments } from '../workspaces/uploads/attachments.js';
import type { MessageRow } from './message-view.js';
import {
  insertLocked,
  insertUnlocked,
  isLocalIdUsed,
  type StoredUserMessage,
  type UserMessage,
} from './user-messages.store.js';

export interface UserMessagesDeps {
  withStatement: WithTransaction;
  events: Pick<EventLog, 'lock' | 'reportLater'>;
  limits: Pick<UsageLimits, 'requireTokensLeft'>;
  runtimes: Pick<RuntimeRequests, 'ensureResumed'>;
  attachments: Pick<Attachments, 'attach'>;
  approvals: Pick<Approvals, 'supersede'>;
  notifyTurns: () => void;
  turnSignals: Pick<TurnSignals, 'send'>;
}

/** Stores user messages together with the turns that answer them. */
export interface UserMessages {
  /**
   * Messages that arrive at the same time share a transaction, so that they share its statement and its flush.
   *
   * @param deadline after this time of the database the message is not stored
   * @returns undefined if the message was not stored: it needs its own transaction
   */
  storeTogether(message: UserMessage, deadline: Date): Promise<MessageRow | undefined>;
  /**
   * Call it early in the transaction: the lock order is runtime, workspace, messages, and it locks the runtime.
   *
   * @throws ApiError `workspace_not_found`
   */
  prepare(workspaceId: string, tx: Transaction): Promise<void>;
  /**
   * Call it after `prepare`. A message withdraws the conversation's open cards, unless it is a decision on one of them; the
   * suspended turn, if the decision has one, continues with this message.
   *
   * @throws ApiError `turn_queue_full`, `token_limit_reached`, `local_id_reused`
   */
  store(message: UserMessage, tx: Transaction, decision?: { suspendedTurnId?: string }): Promise<MessageRow>;
}

/** Errors that end the connection: the statement may have been committed before. */
const CONNECTION_ENDED = /^(08|57P|58|XX)/;

const isRolledBack = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && !CONNECTION_ENDED.test(error.code ?? 'XX');

export function createUserMessages(deps: UserMessagesDeps): UserMessages {
  const { withStatement, events, limits, runtimes, attachments, approvals, notifyTurns, turnSignals } = deps;

  function reportLater({ row, ageS }: StoredUserMessage, steers: boolean | undefined, tx: Transaction): void {
    const { workspace_id: workspaceId, id: subjectId, seq, created_at: createdAt } = row;
    events.reportLater({ workspaceId, type: 'message.new', subjectId }, { seq, createdAt, ageS }, tx);
    tx.afterCommit(notifyTurns);
    if (steers === true) tx.afterCommit(() => turnSignals.send('steer', row.conversation_id));
  }

  const storeInGroup = createGroups({
    async run(items: Parameters<typeof insertUnlocked>[1]) {
      try {
        return await withStatement(async (tx) => {
          const stored = await insertUnlocked(tx, items);
          for (const [at, one] of stored.entries())
            if (one !== undefined) reportLater(one, items[at]?.message.steers, tx);
          return stored;
        });
      } catch (error) {
        // An error of one message must not fail the others: then each gets its own transaction.
        if (isRolledBack(error)) return items.map(() => undefined);
        throw error;
      }
    },
    ...SENDS,
  });

  return {
    async storeTogether(message, deadline) {
      // Here, because the group runs in the context of its first message.
      const traceparent = currentTraceparent();
      return (await storeInGroup({ message: { ...message, traceparent }, deadline }))?.row;
    },

    async prepare(workspaceId, tx) {
      await runtimes.ensureResumed(workspaceId, tx);
    },

    async store(message, tx, decision) {
      const { workspaceId, conversationId, agentIds } = message;
      await events.lock(workspaceId, tx);
      const [stored] = await pipelined(tx, (sender) => [
        insertLocked(sender, { ...message, traceparent: currentTraceparent() }),
        ...(agentIds.length === 0 ? [] : [limits.requireTokensLeft(workspaceId, sender)]),
      ]);
      if (stored === undefined)
        throw (await isLocalIdUsed(tx, message)) ? new ApiError('local_id_reused') : queueFull();
      const { row, turnIds } = stored;
      reportLater(stored, message.steers, tx);
      const suspendedTurnId = decision?.suspendedTurnId;
      if (suspendedTurnId !== undefined) for (const turnId of turnIds) await resumeTurn(tx, turnId, suspendedTurnId);
      await attachments.attach(row.id, message.attachments ?? [], tx);
      if (decision === undefined) await approvals.supersede(conversationId, tx);
      return row;
    },
  };
}
