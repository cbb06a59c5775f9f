import type { ModelCallReservation, ModelCallUsage } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { TurnStatus } from '../../database/schema.js';
import type { StoredPlan } from '../plans/plans.js';
import type { Allowance, UsedTokens } from '../usage/usage-limits.js';

/** The turn of a model call, and the plan of its user. */
export interface TurnOfCall extends StoredPlan {
  agentId: string;
  userId: string;
  status: TurnStatus;
  /** A stop was requested, or the user was banned. */
  ending: boolean;
}

export interface SettledCall {
  provider: string;
}

export interface ModelCallStore {
  /**
   * Blocks other reservations and the start of turns of the owner until the transaction ends.
   *
   * @returns undefined if the workspace does not have the turn
   */
  lockTurn(turn: { workspaceId: string; turnId: string }, db: Database): Promise<TurnOfCall | undefined>;
  /**
   * Adds an estimated row at the next step of the turn, unless a limit of the allowance is reached. Idempotent per call.
   *
   * @returns the tokens used before
   */
  reserve(call: ModelCallReservation & { userId: string }, allowance: Allowance, db: Database): Promise<UsedTokens>;
  /** Replaces the estimate. @returns undefined if the call does not exist */
  settle(callId: string, usage: ModelCallUsage): Promise<SettledCall | undefined>;
  /** Removes a call that the provider did not count. @returns undefined if the call does not exist */
  release(callId: string): Promise<SettledCall | undefined>;
}

export function createModelCallStore(database: Database): ModelCallStore {
  return {
    async lockTurn({ workspaceId, turnId }, db) {
      // The same lock as for the start of a turn.
      const { rows } = await sql<TurnOfCall>`
        SELECT t.agent_id AS "agentId", w.owner_id AS "userId", t.status, (t.stop_requested OR u.is_banned) AS ending,
          u.plan_code, u.plan_expires_at,
          pg_advisory_xact_lock(hashtextextended(w.owner_id::text, 4))
        FROM turns t JOIN workspaces w ON w.id = t.workspace_id JOIN users u ON u.id = w.owner_id
        WHERE t.id = ${turnId} AND t.workspace_id = ${workspaceId}`.execute(db);
      return rows[0];
    },

    async reserve(call, { period, limits }, db) {
      const { rows } = await sql<UsedTokens>`
        WITH used AS MATERIALIZED (
          SELECT coalesce(sum(prompt_tokens + completion_tokens), 0)::bigint AS "user",
            coalesce(sum(prompt_tokens + completion_tokens) FILTER (WHERE workspace_id = ${call.workspace_id}), 0)::bigint
              AS workspace
          FROM usage_periods WHERE user_id = ${call.userId} AND period = ${period}
        ), turn AS (
          SELECT coalesce(max(step), 0) + 1 AS next_step FROM usage_entries WHERE turn_id = ${call.turn_id}
        ), reserved AS (
          INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, prompt_tokens,
            completion_tokens, estimated, call_id, kind)
          SELECT ${call.turn_id}, turn.next_step, ${call.userId}, ${call.workspace_id}, ${call.provider}, ${call.model},
            ${call.estimated_prompt_tokens}, ${call.max_output_tokens}, true, ${call.id},
            ${call.purpose === 'summary' ? 'summary' : 'step'}
          FROM used, turn WHERE used."user" < ${limits.user} AND used.workspace < ${limits.workspace}
          ON CONFLICT (call_id) WHERE call_id IS NOT NULL DO NOTHING
        )
        SELECT "user", workspace FROM used`.execute(db);
      return rows[0] ?? { user: 0, workspace: 0 };
    },

    async settle(callId, usage) {
      const { rows } = await sql<SettledCall>`
        WITH call AS MATERIALIZED (
          SELECT * FROM usage_entries WHERE call_id = ${callId} FOR UPDATE
        ), period AS (
          UPDATE usage_periods p SET
            prompt_tokens = p.prompt_tokens - call.prompt_tokens + ${usage.prompt_tokens},
            completion_tokens = p.completion_tokens - call.completion_tokens + ${usage.completion_tokens}
          FROM call WHERE p.user_id = call.user_id AND p.workspace_id = call.workspace_id
            AND p.period = to_char(call.created_at AT TIME ZONE 'UTC', 'YYYY-MM')
        )
        UPDATE usage_entries e SET prompt_tokens = ${usage.prompt_tokens}, completion_tokens = ${usage.completion_tokens},
          cached_tokens = ${usage.cached_tokens}, reasoning_tokens = ${usage.reasoning_tokens}, estimated = ${usage.estimated}
        FROM call WHERE e.turn_id = call.turn_id AND e.step = call.step
        RETURNING e.provider`.execute(database);
      return rows[0];
    },

    async release(callId) {
      const { rows } = await sql<SettledCall>`
        WITH call AS (
          DELETE FROM usage_entries WHERE call_id = ${callId} RETURNING *
        ), period AS (
          UPDATE usage_periods p SET
            prompt_tokens = p.prompt_tokens - call.prompt_tokens,
            completion_tokens = p.completion_tokens - call.completion_tokens,
            requests = p.requests - 1
          FROM call WHERE p.user_id = call.user_id AND p.workspace_id = call.workspace_id
            AND p.period = to_char(call.created_at AT TIME ZONE 'UTC', 'YYYY-MM')
        )
        SELECT provider FROM call`.execute(database);
      return rows[0];
    },
  };
}
