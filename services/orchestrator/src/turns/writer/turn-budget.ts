import { randomUUID } from 'node:crypto';
import { LIMITS } from '@uswarm/contract';
import { budgetCard } from '../../metering/budget-card.js';
import type { WarnAboutBudget } from '../../metering/budget-warning.js';
import type { Attempt } from '../../metering/reservations.store.js';
import type * as reservationRecords from '../../metering/reservations.store.js';
import type { LimitReached, UsageLimits } from '../../metering/usage-limits.js';
import type { Transaction } from '../../platform/database/database.js';
import { allInOrder } from '../../platform/database/pipelined.js';
import type { OfferedCard } from '../../records/approval-card.js';
import { APPROVAL_KEY } from '../../records/approvals.store.js';
import type * as approvalRecords from '../../records/approvals.store.js';
import type { PushJobs } from '../../records/push-jobs.js';
import type { StoredQuestion } from '../../records/question.js';
import type { CountedCall, UsageEntry } from '../../records/usage-rows.js';
import type { TurnMessages } from '../content/turn-messages.js';
import type * as turnRecords from '../turns.store.js';
import type { TurnRow } from '../turns.store.js';

export interface TurnBudgetDeps {
  limits: Pick<UsageLimits, 'reached' | 'turnBudget'>;
  reservations: Pick<
    typeof reservationRecords,
    'findTurnTokens' | 'findTokensBeforeStep' | 'insertReservation' | 'settleReservation' | 'releaseReservation'
  >;
  turns: Pick<typeof turnRecords, 'recordCall'>;
  warnAboutBudget: WarnAboutBudget;
}

/** `reserved`: the usage replaces the estimate; `refused`: the provider did not count the reserved call */
export type UsageOf = 'unannounced' | 'reserved' | 'refused';

/** `busy`: other turns' running model calls have reserved the rest of the budget, and can give tokens back */
export type Reserved = LimitReached | 'budget_reached' | 'busy' | 'reserved';

/** All methods require the turn's lease. */
export interface TurnBudget {
  /** See `TurnWriter.reserve`. */
  reserve(attempt: Attempt, metered: boolean, tx: Transaction): Promise<Reserved>;
  /** @returns undefined if the usage was recorded before, or does not count */
  record(entry: UsageEntry, call: UsageOf, tx: Transaction): Promise<CountedCall | undefined>;
  /** Asks the user for more tokens. */
  question(tx: Transaction): Promise<ReturnType<typeof budgetCard> & { id: string; grantedTokens: number }>;
}

export function createTurnBudget(deps: TurnBudgetDeps, turn: TurnRow): TurnBudget {
  const { limits, reservations, turns } = deps;
  return {
    async reserve(attempt, metered, tx) {
      const [limit, { left, isRepeated }] = await allInOrder([
        limits.reached(turn.workspace_id, tx),
        reservations.findTokensBeforeStep(tx, turn.id, attempt),
      ]);
      if (isRepeated && !metered) return 'reserved';
      if (limit !== undefined) return limit;
      if (left !== 'some') return left === 'reserved' ? 'busy' : 'budget_reached';
      if (!metered) await reservations.insertReservation(tx, attempt);
      return 'reserved';
    },

    async record(entry, call, tx) {
      const step = { usageTurnId: entry.turnId, step: entry.step };
      if (call === 'refused') {
        await reservations.releaseReservation(tx, step);
        return undefined;
      }
      const settled = call === 'reserved' ? await reservations.settleReservation(tx, step, entry) : undefined;
      const counted = settled ?? (await turns.recordCall(tx, entry));
      // The next turn checks a budget that was set since this one began.
      if (counted !== undefined && turn.known?.budget !== false) await deps.warnAboutBudget(entry, tx);
      return counted;
    },

    async question(tx) {
      const { used } = await reservations.findTurnTokens(tx, turn.id);
      const { tokens } = await limits.turnBudget(turn.workspace_id, tx);
      if (tokens === null) throw new Error('the workspace of the turn does not exist');
      return { id: `budget:${used}`, ...budgetCard(used, tokens), grantedTokens: tokens };
    },
  };
}

const APPROVAL_MS = LIMITS.approvalHours * 3_600_000;
const QUESTION_MS = LIMITS.questionMinutes * 60_000;

export interface AskedCall {
  id: string;
  tool: string;
  argumentsHash: Buffer;
  card: OfferedCard;
  /** Identifies the request in the other system. */
  key?: string | undefined;
  integrationId?: string | undefined;
  /** Set on a card that asks for more tokens for the turn, not for a call. */
  grantedTokens?: number;
  /** Set on a card that asks for the call's server. */
  question?: StoredQuestion;
}

export interface ApprovalCardDeps {
  approvals: Pick<typeof approvalRecords, 'approvalExpiryAt' | 'insertApproval'>;
  push: PushJobs;
}

/** @returns the card's message, and the sequence of its event */
export async function showApproval(
  { approvals, push }: ApprovalCardDeps,
  shown: Pick<TurnMessages, 'ask'>,
  turn: Pick<TurnRow, 'id' | 'conversation_id' | 'workspace_id'>,
  { id: callId, card, ...approved }: AskedCall,
  tx: Transaction,
): Promise<{ id: string; seq: number }> {
  const { question } = approved;
  const expiresAt = await approvals.approvalExpiryAt(tx, question === undefined ? APPROVAL_MS : QUESTION_MS);
  const content = { ...card, expires_at: expiresAt.toISOString() };
  // A call can ask several questions.
  const key = question === undefined ? callId : `${callId}:${randomUUID()}`;
  const { id: cardMessageId, seq } = await shown.ask(`${APPROVAL_KEY}${key}`, content, tx);
  const call = { cardMessageId, turnId: turn.id, conversationId: turn.conversation_id, callId };
  await approvals.insertApproval(tx, { ...call, ...approved, expiresAt });
  await push.announce({ messageId: cardMessageId, workspaceId: turn.workspace_id, seq }, tx);
  return { id: cardMessageId, seq };
}
