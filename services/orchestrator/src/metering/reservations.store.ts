import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import {
  type ChargedCall,
  type CountedCall,
  insertReserved,
  releaseEntry,
  type SettledCall,
  type SettledTokens,
  settleEntry,
} from '../records/usage-rows.js';
import { usageLock } from '../records/usage-lock.js';
import { allottedBudgets, type BudgetRow, limitingBudgets, type TurnTokens, turnTokensOf } from './turn-tokens.js';
import { grantTokens } from '../records/turn-rows.js';

export interface TurnStep {
  /** The first in the chain of continued turns. */
  usageTurnId: string;
  step: number;
}

/** A provider request that a runtime is about to send. */
export interface Attempt extends TurnStep, ChargedCall {
  userId: string;
  workspaceId: string;
  provider: string;
  model: string;
  /** Default: `step`. */
  kind?: CountedCall['kind'];
  /** This turn's rows show if the model gateway counts the call. Default: `usageTurnId`. */
  meteredTurnId?: string;
  /** Estimated. */
  promptTokens: number;
  maxOutputTokens: number;
}

/**
 * For runtimes that call providers themselves. The model gateway has its own reservations: see `model-calls`.
 * Reservations are valid if their transaction has the user's usage lock.
 */
export interface ReservationStore {
  lock(userId: string, db: Database): Promise<void>;
  tokensOf(turnId: string, db: Database): Promise<TurnTokens>;
  /** Like `tokensOf`. `isRepeated`: the step was reserved or recorded before. */
  beforeStep(turnId: string, step: TurnStep, db: Database): Promise<TurnTokens & { isRepeated: boolean }>;
  /** Tokens left after subtracting what unfinished tasks may use. @returns null without a budget */
  unallotted(turnId: string, db: Database): Promise<number | null>;
  /** Has no effect if the turn's calls pass the model gateway, which counts them. */
  insert(attempt: Attempt, db: Database): Promise<void>;
  /** Replaces a reserved step's estimate, once. @returns undefined if there is none */
  settle(step: TurnStep, tokens: SettledTokens, db: Database): Promise<SettledCall | undefined>;
  /** Removes a reserved step that the provider did not count. */
  release(step: TurnStep, db: Database): Promise<void>;
  /** Sets a suspended turn's budget to the tokens that it and its tasks have used, plus these. */
  grant(turnId: string, tokens: number, db: Database): Promise<void>;
}

const reservedStep = ({ usageTurnId, step }: TurnStep) =>
  sql`turn_id = ${usageTurnId} AND step = ${step} AND reserved AND call_id IS NULL`;

export function createReservationStore(): ReservationStore {
  return {
    async lock(userId, db) {
      await sql`SELECT ${usageLock(userId)}`.execute(db);
    },

    async tokensOf(turnId, db) {
      const { rows } = await sql<BudgetRow>`
        WITH ${limitingBudgets(turnId)} SELECT * FROM budgets`.execute(db);
      return turnTokensOf(turnId, rows);
    },

    async beforeStep(turnId, { usageTurnId, step }, db) {
      const { rows } = await sql<BudgetRow & { repeated: boolean }>`
        WITH ${limitingBudgets(turnId)}
        SELECT budgets.*, EXISTS (SELECT FROM usage_entries WHERE turn_id = ${usageTurnId} AND step = ${step}) AS repeated
        FROM budgets`.execute(db);
      return { ...turnTokensOf(turnId, rows), isRepeated: rows[0]?.repeated ?? false };
    },

    async unallotted(turnId, db) {
      const { rows } = await sql<{ left: number | null }>`
        WITH ${allottedBudgets(turnId)}
        SELECT (sum(CASE WHEN id = ${turnId} THEN budget - used ELSE -greatest(0, budget - used) END))::bigint AS left
        FROM budgets HAVING bool_and(budget IS NOT NULL) FILTER (WHERE id = ${turnId})`.execute(db);
      return rows[0]?.left ?? null;
    },

    async insert({ usageTurnId, meteredTurnId = usageTurnId, ...attempt }, db) {
      await insertReserved(
        { kind: 'step', ...attempt, turnId: usageTurnId, callId: null },
        sql`WHERE NOT EXISTS (SELECT FROM usage_entries WHERE turn_id = ${meteredTurnId} AND call_id IS NOT NULL)`,
      ).execute(db);
    },

    settle: (step, tokens, db) => settleEntry(reservedStep(step), tokens, db),

    async release(step, db) {
      await releaseEntry(reservedStep(step), db);
    },

    async grant(turnId, tokens, db) {
      await sql`
        WITH ${limitingBudgets(turnId)}
        ${grantTokens(turnId, tokens)}`.execute(db);
    },
  };
}
