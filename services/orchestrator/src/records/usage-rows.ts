import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { ModelPrice } from '../platform/core/models.js';
import { usageLock } from './usage-lock.js';

export interface SettledTokens {
  promptTokens: number;
  completionTokens: number;
  cachedTokens: number;
  reasoningTokens: number;
  estimated: boolean;
}

export interface CountedCall {
  provider: string;
  /** Model catalogue id. */
  modelId: string | null;
  kind: 'step' | 'summary' | 'title' | 'transcription';
  /** Null if the model has no price. */
  costMicros: number | null;
}

export interface SettledCall extends CountedCall {
  workspaceId: string;
  /** Null in rows from the previous release. */
  conversationId: string | null;
  /** False if the call was settled before. */
  isNew: boolean;
}

/** As stored in the call's row. */
export interface ChargedCall extends ModelPrice {
  agentId: string;
  conversationId: string;
}

const CHARGED_COLUMNS = sql`agent_id, conversation_id, model_id, prices, cost_micros`;

function chargedValues(
  { agentId, conversationId, modelId, prices }: ChargedCall,
  { prompt, cached, completion }: { prompt: number; cached: number; completion: number },
): RawBuilder<unknown> {
  const json = sql`${prices === null ? null : JSON.stringify(prices)}::jsonb`;
  const cost = costOf(prompt, cached, completion, json);
  return sql`${agentId}::uuid, ${conversationId}::uuid, ${modelId}::text, ${json}, ${cost}`;
}

const costOf = (prompt: number, cached: number, completion: number, prices: RawBuilder<unknown>) =>
  sql`model_call_cost(${prompt}, ${cached}, ${completion}, ${prices})`;

const COUNTED_COLUMNS = sql`provider, model_id AS "modelId", kind, cost_micros AS "costMicros"`;

/**
 * Replaces a reserved call's estimate, in `usage_periods` too.
 *
 * @param isEntry selects the call's row
 * @returns undefined if there is none
 */
export async function settleEntry(
  db: Database,
  isEntry: RawBuilder<unknown>,
  tokens: SettledTokens,
): Promise<SettledCall | undefined> {
  const { promptTokens, completionTokens, cachedTokens, reasoningTokens, estimated } = tokens;
  const { rows } = await sql<SettledCall>`
    WITH locked AS MATERIALIZED (
      SELECT ${usageLock(sql`user_id::text`)} FROM usage_entries WHERE ${isEntry}
    ), call AS MATERIALIZED (
      SELECT *, ${costOf(promptTokens, cachedTokens, completionTokens, sql`prices`)} AS settled_cost
      FROM usage_entries WHERE ${isEntry} AND (SELECT count(*) FROM locked) > 0 FOR UPDATE
    ), period AS (
      UPDATE usage_periods p SET
        prompt_tokens = p.prompt_tokens - call.prompt_tokens + ${promptTokens},
        completion_tokens = p.completion_tokens - call.completion_tokens + ${completionTokens},
        cost_micros = p.cost_micros - coalesce(call.cost_micros, 0) + coalesce(call.settled_cost, 0)
      FROM call WHERE p.user_id = call.user_id AND p.workspace_id = call.workspace_id
        AND p.period = to_char(call.created_at AT TIME ZONE 'UTC', 'YYYY-MM')
    )
    UPDATE usage_entries e SET prompt_tokens = ${promptTokens}, completion_tokens = ${completionTokens},
      cached_tokens = ${cachedTokens}, reasoning_tokens = ${reasoningTokens}, estimated = ${estimated}, reserved = false,
      cost_micros = call.settled_cost, finished_at = coalesce(e.finished_at, now())
    FROM call WHERE e.turn_id = call.turn_id AND e.step = call.step
    RETURNING e.provider, e.model_id AS "modelId", e.kind, e.cost_micros AS "costMicros", e.workspace_id AS "workspaceId",
      e.conversation_id AS "conversationId", call.reserved AS "isNew"`.execute(db);
  return rows[0];
}

/**
 * Removes a reserved call that the provider did not count.
 *
 * @param isEntry selects the call's row
 * @returns undefined if there is none
 */
export async function releaseEntry(
  db: Database,
  isEntry: RawBuilder<unknown>,
): Promise<{ provider: string } | undefined> {
  const { rows } = await sql<{ provider: string }>`
    WITH call AS (
      DELETE FROM usage_entries WHERE ${isEntry} RETURNING *
    ), period AS (
      UPDATE usage_periods p SET
        prompt_tokens = p.prompt_tokens - call.prompt_tokens,
        completion_tokens = p.completion_tokens - call.completion_tokens,
        requests = p.requests - 1,
        cost_micros = p.cost_micros - coalesce(call.cost_micros, 0)
      FROM call WHERE p.user_id = call.user_id AND p.workspace_id = call.workspace_id
        AND p.period = to_char(call.created_at AT TIME ZONE 'UTC', 'YYYY-MM')
    )
    SELECT provider FROM call`.execute(db);
  return rows[0];
}

export interface UsageEntry extends ChargedCall {
  turnId: string;
  step: number;
  userId: string;
  workspaceId: string;
  provider: string;
  model: string;
  promptTokens: number;
  completionTokens: number;
  /** Part of `promptTokens`. */
  cachedTokens: number;
  /** Part of `completionTokens`. */
  reasoningTokens: number;
  estimated: boolean;
  /** Default: `step`. */
  kind?: CountedCall['kind'];
}

/** Selects a turn's calls that pass the model gateway. The orchestrator itself sends recordings. */
export const passesGateway = (turnId: string): RawBuilder<unknown> =>
  sql`turn_id = ${turnId} AND call_id IS NOT NULL AND kind <> 'transcription'`;

/**
 * Idempotent per turn and step. Reported usage is ignored if the turn's calls pass the model gateway, which counts
 * them; a release 0.2 runtime does not use the gateway.
 *
 * @returns undefined if the step was recorded before, or if the gateway counts the calls
 */
export async function recordCall(db: Database, entry: UsageEntry): Promise<CountedCall | undefined> {
  const { promptTokens: prompt, cachedTokens: cached, completionTokens: completion } = entry;
  const { rows } = await sql<CountedCall>`
    INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, kind, prompt_tokens,
      completion_tokens, cached_tokens, reasoning_tokens, estimated, finished_at, ${CHARGED_COLUMNS})
    SELECT ${entry.turnId}, ${entry.step}, ${entry.userId}, ${entry.workspaceId}, ${entry.provider}, ${entry.model},
      ${entry.kind ?? 'step'}, ${prompt}, ${completion}, ${cached}, ${entry.reasoningTokens}, ${entry.estimated},
      now(), ${chargedValues(entry, { prompt, cached, completion })}
    WHERE NOT EXISTS (SELECT FROM usage_entries WHERE ${passesGateway(entry.turnId)})
    ON CONFLICT (turn_id, step) DO NOTHING
    RETURNING ${COUNTED_COLUMNS}`.execute(db);
  return rows[0];
}

/** A call that was not sent yet, with the most tokens that it can use. */
export interface ReservedEntry extends ChargedCall {
  /** The first in the chain of continued turns. */
  turnId: string;
  step: number | RawBuilder<number>;
  userId: string;
  workspaceId: string;
  provider: string;
  model: string;
  kind: CountedCall['kind'];
  promptTokens: number;
  maxOutputTokens: number;
  /** Null if the runtime calls the provider itself. */
  callId: string | null;
}

/** Inserts a reserved call, at most once by its id. `source` continues the SELECT: FROM and WHERE. */
export const insertReserved = (entry: ReservedEntry, source: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, kind, estimated, reserved,
    prompt_tokens, completion_tokens, call_id, ${CHARGED_COLUMNS})
  SELECT ${entry.turnId}, ${entry.step}, ${entry.userId}, ${entry.workspaceId}, ${entry.provider}, ${entry.model},
    ${entry.kind}, true, true, ${entry.promptTokens}, ${entry.maxOutputTokens}, ${entry.callId}::uuid,
    ${chargedValues(entry, { prompt: entry.promptTokens, cached: 0, completion: entry.maxOutputTokens })}
  ${source}
  ON CONFLICT (call_id) WHERE call_id IS NOT NULL DO NOTHING`;

export async function deleteUsage(db: Database, userId: string): Promise<void> {
  await db.deleteFrom('usage_entries').where('user_id', '=', userId).execute();
  await db.deleteFrom('usage_periods').where('user_id', '=', userId).execute();
}

/** `kept`: rows with the columns of `usage_periods`. They count for the user only, like the usage of a deleted workspace. */
export const restoreUsage = (userId: string, kept: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO usage_periods (user_id, period, workspace_id, prompt_tokens, completion_tokens, requests)
  SELECT ${userId}::uuid, period, gen_random_uuid(), prompt_tokens, completion_tokens, requests FROM ${kept}`;
