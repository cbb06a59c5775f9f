import { ApiError, type FormValue } from '@uswarm/contract';
import type { Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { pruningRow } from '../../platform/jobs/pruning.js';
import type { AgentStatuses } from '../../records/agent-statuses.js';
import type { EventLog } from '../../records/event-log.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { TurnMetrics } from '../turn-metrics.js';
import { CONTINUE_ACTION } from '../../metering/budget-card.js';
import { grantBudget } from '../../metering/reservations.store.js';
import type { Delegations } from '../delegations/delegations.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import { APPROVE_ACTION } from '../../records/approval-card.js';
import {
  type ClosedCard,
  type EndedTurns,
  denyApproval,
  decideApproval,
  lockApproval,
  isApprovalCard,
  supersedeApprovals,
  supersedeApprovalsOf,
  refuseApprovals,
  findExpiredApproval,
  expireApproval,
} from '../../records/approvals.store.js';
import type { StoredQuestion } from '../../records/question.js';
import { answerOf } from '../../records/question-card.js';
import type { TurnSignals } from '../turn-signals.js';
import { withdrawCards } from './withdraw-cards.js';

export interface ApprovalsDeps {
  events: Pick<EventLog, 'append' | 'lock'>;
  push: Pick<PushJobs, 'withdraw'>;
  statuses: Pick<AgentStatuses, 'refreshWorkspace'>;
  metrics: Pick<TurnMetrics, 'budget'>;
  /** Continues background turns whose approval was closed without a decision. */
  tasks: Pick<Delegations, 'proceed'>;
  runtimes: Pick<RuntimeRequests, 'ensureResumed'>;
  turnSignals: Pick<TurnSignals, 'send'>;
}

const ANSWERED = 'I answered the question.';
const DECLINED = 'I declined to answer.';
const CARD_DELETED = 'The user deleted the request to approve this call. Nothing was changed. Do not repeat it.';

export interface Decided {
  /** Must continue; absent if it is still running. */
  suspendedTurnId?: string;
  /** The turn has ended with its reply so far. */
  stopped?: boolean;
  /** Replaces the label of the action in the user message. */
  text?: string;
}

export interface Choice {
  cardMessageId: string;
  actionId: string;
  /** Of a form, by field. */
  values?: Readonly<Record<string, FormValue>> | undefined;
}

export interface Approvals {
  /**
   * Call it after the workspace is locked.
   *
   * @returns undefined if no turn waits for the card
   * @throws ApiError `approval_closed`, `validation_failed`
   */
  decide(choice: Choice, tx: Transaction): Promise<Decided | undefined>;
  /** Withdraws a conversation's open cards, because the user sent another message. */
  supersede(conversationId: string, tx: Transaction): Promise<void>;
  /**
   * Withdraws cards whose turns end or disappear. The caller has locked the workspace, and refreshes its statuses
   * afterwards.
   */
  withdraw(ended: EndedTurns, tx: Transaction): Promise<void>;
  /** Withdraws one expired card, and the other cards for which its turn waits. @returns false if there is none */
  expireNext(tx: Transaction): Promise<boolean>;
}

export function createApprovals(deps: ApprovalsDeps): Approvals {
  const { events, statuses, metrics } = deps;

  async function withdraw(cards: readonly ClosedCard[], tx: Transaction): Promise<void> {
    await withdrawCards(deps, cards, tx);
    for (const turnId of new Set(cards.map((card) => card.turnId))) {
      // A running call can wait for it.
      tx.afterCommit(() => deps.turnSignals.send('answer', turnId));
      await deps.tasks.proceed(turnId, 0, tx);
    }
  }

  async function decideOnBudget(
    cardMessageId: string,
    { turnId, grantedTokens }: { turnId: string; grantedTokens: number },
    continues: boolean,
    tx: Transaction,
  ): Promise<Decided> {
    tx.afterCommit(() => metrics.budget(continues ? 'continued' : 'stopped'));
    if (!continues) {
      await denyApproval(tx, cardMessageId);
      return { stopped: true };
    }
    await decideApproval(tx, cardMessageId, 'approved');
    await grantBudget(tx, turnId, grantedTokens);
    return { suspendedTurnId: turnId };
  }

  /** The running call reads the answer. Its label could be an order to the agent, written by the server that asked. */
  async function answer(
    { cardMessageId, actionId, values }: Choice,
    { turnId, question }: { turnId: string; question: StoredQuestion },
    tx: Transaction,
  ): Promise<Decided> {
    const answered = answerOf(question, actionId, values);
    const accepts = answered.action === 'accept';
    await decideApproval(tx, cardMessageId, accepts ? 'approved' : 'denied', answered);
    tx.afterCommit(() => deps.turnSignals.send('answer', turnId));
    return { text: accepts ? ANSWERED : DECLINED };
  }

  return {
    async decide(choice, tx) {
      const { cardMessageId, actionId } = choice;
      const approval = await lockApproval(tx, cardMessageId);
      if (approval === undefined) {
        // The approval was deleted with its turn.
        if (await isApprovalCard(tx, cardMessageId)) throw new ApiError('approval_closed');
        return undefined;
      }
      const { status, isExpired, turnEnded, canContinue, turnId, grantedTokens, question } = approval;
      if (status !== 'open' || isExpired || (turnEnded && !canContinue)) throw new ApiError('approval_closed');
      if (question !== null) return answer(choice, { turnId, question }, tx);
      if (grantedTokens !== null) {
        return decideOnBudget(cardMessageId, { turnId, grantedTokens }, actionId === CONTINUE_ACTION, tx);
      }
      await decideApproval(tx, cardMessageId, actionId === APPROVE_ACTION ? 'approved' : 'denied');
      return turnEnded ? { suspendedTurnId: turnId } : {};
    },

    async supersede(conversationId, tx) {
      const cards = await supersedeApprovals(tx, conversationId);
      await withdraw(cards, tx);
      for (const workspaceId of new Set(cards.map((card) => card.workspaceId)))
        await statuses.refreshWorkspace(workspaceId, tx);
    },

    async withdraw(ended, tx) {
      await withdraw(await supersedeApprovalsOf(tx, ended), tx);
      // A turn that continues would ask again.
      await refuseApprovals(tx, ended.messageIds ?? [], CARD_DELETED);
    },

    async expireNext(tx) {
      const next = await findExpiredApproval(tx);
      if (next === undefined) return false;
      // A background turn continues and needs its runtime. Locks the workspace before the approval, as every decision
      // does.
      await deps.runtimes.ensureResumed(next.workspaceId, tx);
      await events.lock(next.workspaceId, tx);
      await withdraw(await expireApproval(tx, next.messageId), tx);
      await statuses.refreshWorkspace(next.workspaceId, tx);
      return true;
    },
  };
}

const APPROVAL_EXPIRY_JOB = 'approval-expiry';
const MINUTE_MS = 60_000;

/** Withdraws expired cards, one transaction each. */
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
