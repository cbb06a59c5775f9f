import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import {
  type ChargedCall,
  type CountedCall,
  insertReserved,
  passesGateway,
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

const reservedStep = ({ usageTurnId, step }: TurnStep) =>
  sql`turn_id = ${usageTurnId} AND step = ${step} AND reserved AND call_id IS NULL`;

export async function lockReservations(db: Database, userId: string): Promise<void> {
  await sql`SELECT ${usageLock(userId)}`.execute(db);
}

export async function findTurnTokens(db: Database, turnId: string): Promise<TurnTokens> {
  const { rows } = await sql<BudgetRow>`
    WITH ${limitingBudgets(turnId)} SELECT * FROM budgets`.execute(db);
  return turnTokensOf(turnId, rows);
}

/** Like `tokensOf`. `isRepeated`: the step was reserved or recorded before. */
export async function findTokensBeforeStep(
  db: Database,
  turnId: string,
  { usageTurnId, step }: TurnStep,
): Promise<TurnTokens & { isRepeated: boolean }> {
  const { rows } = await sql<BudgetRow & { repeated: boolean }>`
    WITH ${limitingBudgets(turnId)}
    SELECT budgets.*, EXISTS (SELECT FROM usage_entries WHERE turn_id = ${usageTurnId} AND step = ${step}) AS repeated
    FROM budgets`.execute(db);
  return { ...turnTokensOf(turnId, rows), isRepeated: rows[0]?.repeated ?? false };
}

/** Tokens left after subtracting what unfinished tasks may use. @returns null without a budget */
export async function findUnallotted(db: Database, turnId: string): Promise<number | null> {
  const { rows } = await sql<{ left: number | null }>`
    WITH ${allottedBudgets(turnId)}
    SELECT (sum(CASE WHEN id = ${turnId} THEN budget - used ELSE -greatest(0, budget - used) END))::bigint AS left
    FROM budgets HAVING bool_and(budget IS NOT NULL) FILTER (WHERE id = ${turnId})`.execute(db);
  return rows[0]?.left ?? null;
}

/** Has no effect if the turn's calls pass the model gateway, which counts them. */
export async function insertReservation(
  db: Database,
  { usageTurnId, meteredTurnId = usageTurnId, ...attempt }: Attempt,
): Promise<void> {
  await insertReserved(
    { kind: 'step', ...attempt, turnId: usageTurnId, callId: null },
    sql`WHERE NOT EXISTS (SELECT FROM usage_entries WHERE ${passesGateway(meteredTurnId)})`,
  ).execute(db);
}

/** Replaces a reserved step's estimate, once. @returns undefined if there is none */
export function settleReservation(
  db: Database,
  step: TurnStep,
  tokens: SettledTokens,
): Promise<SettledCall | undefined> {
  return settleEntry(db, reservedStep(step), tokens);
}

/** Removes a reserved step that the provider did not count. */
export async function releaseReservation(db: Database, step: TurnStep): Promise<void> {
  await releaseEntry(db, reservedStep(step));
}

/** Sets a suspended turn's budget to the tokens that it and its tasks have used, plus these. */
export async function grantBudget(db: Database, turnId: string, tokens: number): Promise<void> {
  await sql`
    WITH ${limitingBudgets(turnId)}
    ${grantTokens(turnId, tokens)}`.execute(db);
}
