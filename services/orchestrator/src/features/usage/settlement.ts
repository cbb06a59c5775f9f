import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database/database.js';

/** The tokens of a model call that ended. */
export interface SettledTokens {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
  estimated: boolean;
}

export interface SettledCall {
  provider: string;
}

/**
 * Replaces the estimate of a reserved call, in `usage_periods` too.
 *
 * @param isEntry the condition that selects its row
 * @returns undefined if there is none
 */
export async function settleEntry(
  isEntry: RawBuilder<unknown>,
  tokens: SettledTokens,
  db: Database,
): Promise<SettledCall | undefined> {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens, estimated } = tokens;
  const { rows } = await sql<SettledCall>`
    WITH call AS MATERIALIZED (
      SELECT * FROM usage_entries WHERE ${isEntry} FOR UPDATE
    ), period AS (
      UPDATE usage_periods p SET
        prompt_tokens = p.prompt_tokens - call.prompt_tokens + ${promptTokens},
        completion_tokens = p.completion_tokens - call.completion_tokens + ${completionTokens}
      FROM call WHERE p.user_id = call.user_id AND p.workspace_id = call.workspace_id
        AND p.period = to_char(call.created_at AT TIME ZONE 'UTC', 'YYYY-MM')
    )
    UPDATE usage_entries e SET prompt_tokens = ${promptTokens}, completion_tokens = ${completionTokens},
      cached_tokens = ${cachedTokens}, reasoning_tokens = ${reasoningTokens}, estimated = ${estimated}, reserved = false
    FROM call WHERE e.turn_id = call.turn_id AND e.step = call.step
    RETURNING e.provider`.execute(db);
  return rows[0];
}

/**
 * Removes a reserved call that the provider did not count.
 *
 * @param isEntry the condition that selects its row
 * @returns undefined if there is none
 */
export async function releaseEntry(isEntry: RawBuilder<unknown>, db: Database): Promise<SettledCall | undefined> {
  const { rows } = await sql<SettledCall>`
    WITH call AS (
      DELETE FROM usage_entries WHERE ${isEntry} RETURNING *
    ), period AS (
      UPDATE usage_periods p SET
        prompt_tokens = p.prompt_tokens - call.prompt_tokens,
        completion_tokens = p.completion_tokens - call.completion_tokens,
        requests = p.requests - 1
      FROM call WHERE p.user_id = call.user_id AND p.workspace_id = call.workspace_id
        AND p.period = to_char(call.created_at AT TIME ZONE 'UTC', 'YYYY-MM')
    )
    SELECT provider FROM call`.execute(db);
  return rows[0];
}
