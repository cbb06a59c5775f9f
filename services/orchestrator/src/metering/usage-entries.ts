import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { CHARGED_COLUMNS, type ChargedCall, chargedValues, COUNTED_COLUMNS, type CountedCall } from './settlement.js';

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
  kind?: 'step' | 'summary' | 'title';
}

/** See `TurnStore.recordUsage`. */
export async function recordCall(entry: UsageEntry, db: Database): Promise<CountedCall | undefined> {
  const { promptTokens: prompt, cachedTokens: cached, completionTokens: completion } = entry;
  const { rows } = await sql<CountedCall>`
    INSERT INTO usage_entries (turn_id, step, user_id, workspace_id, provider, model, kind, prompt_tokens,
      completion_tokens, cached_tokens, reasoning_tokens, estimated, finished_at, ${CHARGED_COLUMNS})
    SELECT ${entry.turnId}, ${entry.step}, ${entry.userId}, ${entry.workspaceId}, ${entry.provider}, ${entry.model},
      ${entry.kind ?? 'step'}, ${prompt}, ${completion}, ${cached}, ${entry.reasoningTokens}, ${entry.estimated},
      now(), ${chargedValues(entry, { prompt, cached, completion })}
    WHERE NOT EXISTS (SELECT FROM usage_entries WHERE turn_id = ${entry.turnId} AND call_id IS NOT NULL)
    ON CONFLICT (turn_id, step) DO NOTHING
    RETURNING ${COUNTED_COLUMNS}`.execute(db);
  return rows[0];
}
