import type { ModelCallReservation, ModelCallUsage } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { TurnStatus } from '../../platform/database/schema.js';
import type { ModelPrice } from '../../platform/core/models.js';
import type { StoredPlan } from '../../metering/plans.js';
import type { StoredBudget } from '../../metering/budget.js';
import { insertReserved, releaseEntry, type SettledCall, settleEntry } from '../../records/usage-rows.js';
import { limitingBudgets } from '../../metering/turn-tokens.js';
import type { Allowance, UsedBefore } from '../../metering/usage-limits.js';
import { usageLock } from '../../records/usage-lock.js';

export interface TurnOfCall extends StoredPlan, StoredBudget {
  agentId: string;
  conversationId: string;
  userId: string;
  status: TurnStatus;
  /** True after a stop request or a ban. */
  ending: boolean;
  /** The first in the chain of continued turns. */
  usageTurnId: string;
}

export interface UsedBeforeCall extends UsedBefore {
  /** If true, a budget that limits the turn is spent and the call is not reserved. */
  budgetSpent: boolean;
}

/**
 * Until the transaction ends, blocks the owner's other reservations and turn starts.
 *
 * @returns undefined if the workspace does not have the turn
 */
export async function lockTurnOfCall(
  db: Database,
  { workspaceId, turnId }: { workspaceId: string; turnId: string },
): Promise<TurnOfCall | undefined> {
  // Turn starts take the same lock. The user cannot be deleted meanwhile: nothing would delete the usage.
  const { rows } = await sql<TurnOfCall>`
    SELECT t.agent_id AS "agentId", t.conversation_id AS "conversationId", w.owner_id AS "userId", t.status, (t.stop_requested OR u.is_banned) AS ending,
      u.plan_code, u.plan_expires_at, w.monthly_cost_micros, w.monthly_tokens, coalesce(t.first_turn_id, t.id) AS "usageTurnId",
      ${usageLock(sql`w.owner_id::text`)}
    FROM turns t JOIN workspaces w ON w.id = t.workspace_id JOIN users u ON u.id = w.owner_id
    WHERE t.id = ${turnId} AND t.workspace_id = ${workspaceId} FOR KEY SHARE OF u`.execute(db);
  return rows[0];
}

/**
 * Adds an estimated row at the turn's next step, unless a limit of the allowance is reached or a budget that limits
 * the turn is spent. Idempotent per call.
 *
 * @returns the usage before the call
 */
export async function reserveModelCall(
  db: Database,
  call: ModelCallReservation & ModelPrice & Pick<TurnOfCall, 'userId' | 'conversationId' | 'usageTurnId'>,
  { period, user, workspace, budget }: Allowance,
): Promise<UsedBeforeCall> {
  const { rows } = await sql<UsedBeforeCall>`
    WITH ${limitingBudgets(call.turn_id)}, used AS MATERIALIZED (
      SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint AS "user",
        coalesce(sum(prompt_tokens + completion_tokens) FILTER (WHERE workspace_id = ${call.workspace_id}), 0)::bigint
          AS workspace,
        coalesce(sum(cost_micros) FILTER (WHERE workspace_id = ${call.workspace_id}), 0)::bigint AS cost
      FROM usage_periods WHERE user_id = ${call.userId} AND period = ${period}
    ), turn AS MATERIALIZED (
      -- Runtimes that report their own calls count the steps from 1.
      SELECT CASE WHEN ${call.purpose === 'transcription'} THEN least(min(step), 0) - 1
          ELSE greatest(max(step), 0) + 1 END AS next_step,
        ${call.purpose === 'turn'} AND NOT coalesce(bool_or(call_id = ${call.id}), false)
          -- The runtime of a turn without a budget cannot be told that it is spent.
          AND (SELECT bool_or(used >= budget) AND bool_and(id <> ${call.turn_id} OR budget IS NOT NULL) FROM budgets)
          AS spent
      FROM usage_entries WHERE turn_id = ${call.usageTurnId}
    ), reserved AS (
      ${insertReserved(
        {
          ...call,
          turnId: call.usageTurnId,
          step: sql<number>`turn.next_step`,
          agentId: call.agent_id,
          workspaceId: call.workspace_id,
          kind: call.purpose === 'turn' ? 'step' : call.purpose,
          promptTokens: call.estimated_prompt_tokens,
          maxOutputTokens: call.max_output_tokens,
          callId: call.id,
        },
        sql`FROM used, turn
          WHERE used."user" < ${user} AND used.workspace < ${workspace}
            AND (used.cost >= ${budget.monthly_cost_micros}::bigint) IS NOT TRUE
            AND (used.workspace >= ${budget.monthly_tokens}::bigint) IS NOT TRUE
            AND turn.spent IS NOT TRUE`,
      )}
    )
    SELECT "user", workspace, cost, spent IS TRUE AS "budgetSpent" FROM used, turn`.execute(db);
  return rows[0] ?? { user: 0, workspace: 0, cost: 0, budgetSpent: false };
}

/** @returns undefined if the call does not exist */
export function settleModelCall(db: Database, callId: string, usage: ModelCallUsage): Promise<SettledCall | undefined> {
  return settleEntry(db, ofCall(callId), {
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    cachedTokens: usage.cached_tokens,
    reasoningTokens: usage.reasoning_tokens,
    estimated: usage.estimated,
  });
}

/** Removes a call that the provider did not count. @returns undefined if the call does not exist */
export function releaseModelCall(db: Database, callId: string): Promise<{ provider: string } | undefined> {
  return releaseEntry(db, ofCall(callId));
}

const ofCall = (callId: string) => sql`call_id = ${callId}`;
