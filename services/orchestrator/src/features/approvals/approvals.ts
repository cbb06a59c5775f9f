import { ApiError } from '@uswarm/contract';
import type { Transaction, WithTransaction } from '../../database/database.js';
import type { JobDefinition } from '../../jobs/job-definition.js';
import { pruningRow } from '../../jobs/pruning.js';
import type { EventStore } from '../events/events.store.js';
import type { MessageStore } from '../messages/messages.store.js';
import { APPROVE_ACTION } from './approval-card.js';
import type { ApprovalStore, ClosedCard } from './approvals.store.js';

export interface ApprovalsDeps {
  store: Pick<ApprovalStore, 'lock' | 'decide' | 'supersede' | 'nextExpired' | 'expire'>;
  messages: Pick<MessageStore, 'update'>;
  events: Pick<EventStore, 'append'>;
}

/** What follows from a decision. */
export interface Decided {
  /** The turn that must continue; absent if it is still running. */
  suspendedTurnId?: string;
}

/** Decisions of users on calls of tools. */
export interface Approvals {
  /**
   * Records the decision on the call of a card. Call it after the workspace is locked.
   *
   * @returns undefined if the card is not about a call
   * @throws ApiError `approval_closed`
   */
  decide(cardMessageId: string, actionId: string, tx: Transaction): Promise<Decided | undefined>;
  /** Withdraws the open cards of a conversation, because the user sent another message. */
  supersede(conversationId: string, tx: Transaction): Promise<void>;
  /** Withdraws one expired card. @returns false if there is none */
  expireNext(tx: Transaction): Promise<boolean>;
}

export function createApprovals({ store, messages, events }: ApprovalsDeps): Approvals {
  const withdraw = (messageId: string, tx: Transaction): Promise<void> =>
    messages.update(messageId, { status: 'failed', errorCode: 'withdrawn' }, tx);
  const append = ({ messageId, workspaceId }: ClosedCard, tx: Transaction) =>
    events.append({ workspaceId, type: 'message.updated', subjectId: messageId }, tx);

  return {
    async decide(cardMessageId, actionId, tx) {
      const approval = await store.lock(cardMessageId, tx);
      if (approval === undefined) return undefined;
      if (approval.status !== 'open' || approval.isExpired) throw new ApiError('approval_closed');
      await store.decide(cardMessageId, actionId === APPROVE_ACTION ? 'approved' : 'denied', tx);
      return approval.turnEnded ? { suspendedTurnId: approval.turnId } : {};
    },

    async supersede(conversationId, tx) {
      for (const card of await store.supersede(conversationId, tx)) {
        await append(card, tx);
        await withdraw(card.messageId, tx);
      }
    },

    async expireNext(tx) {
      const next = await store.nextExpired(tx);
      if (next === undefined) return false;
      // Locks the workspace before the approval, as every decision does.
      await append(next, tx);
      for (const { messageId } of await store.expire(next.messageId, tx)) await withdraw(messageId, tx);
      return true;
    },
  };
}

const APPROVAL_EXPIRY_JOB = 'approval-expiry';
const MINUTE_MS = 60_000;

/** The job that withdraws expired cards, one transaction each. */
export const approvalExpiry = (
  approvals: Pick<Approvals, 'expireNext'>,
  withTransaction: WithTransaction,
): JobDefinition => ({
  type: APPROVAL_EXPIRY_JOB,
  atStart: pruningRow(APPROVAL_EXPIRY_JOB),
  async handle(_job, signal) {
    while (!signal.aborted && (await withTransaction((tx) => approvals.expireNext(tx))));
    return { againInMs: signal.aborted ? 0 : MINUTE_MS };
  },
});
