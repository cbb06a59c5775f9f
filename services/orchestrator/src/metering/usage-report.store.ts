import type { UsageAmount, UsageGrouping } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';

export interface UsageRange {
  workspaceId: string;
  /** Inclusive. */
  from: Date;
  /** Exclusive. */
  until: Date;
}

export interface UsageGroupRow extends UsageAmount {
  key: string;
  name: string | null;
  agent_id: string | null;
  conversation_id: string | null;
}

/** Includes the turns that it delegated, directly or through others. */
export interface TurnTotalRow extends UsageAmount {
  key: string;
  delegated_by: string | null;
}

const AMOUNT = sql`
  count(*) AS model_calls,
  coalesce(sum(prompt_tokens), 0)::bigint AS prompt_tokens,
  coalesce(sum(cached_tokens), 0)::bigint AS cached_tokens,
  coalesce(sum(completion_tokens), 0)::bigint AS completion_tokens,
  coalesce(sum(reasoning_tokens), 0)::bigint AS reasoning_tokens,
  sum(cost_micros)::bigint AS cost_micros,
  coalesce(sum(prompt_tokens + completion_tokens) FILTER (WHERE cost_micros IS NULL), 0)::bigint AS unpriced_tokens`;

/** Rows from the previous release have no agent and no conversation. */
const entriesOf = ({ workspaceId, from, until }: UsageRange) => sql`
  SELECT e.*, coalesce(e.agent_id, t.agent_id) AS agent, coalesce(e.conversation_id, t.conversation_id) AS conversation
  FROM usage_entries e LEFT JOIN turns t ON t.id = e.turn_id AND e.agent_id IS NULL
  WHERE e.workspace_id = ${workspaceId} AND e.created_at >= ${from} AND e.created_at < ${until}`;

const UNKNOWN = 'unknown';

const KEYS: Record<UsageGrouping, RawBuilder<string>> = {
  agent: sql`coalesce(agent::text, ${sql.lit(UNKNOWN)})`,
  conversation: sql`coalesce(conversation::text, ${sql.lit(UNKNOWN)})`,
  turn: sql`turn_id::text`,
  model: sql`provider || '/' || model`,
  day: sql`to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`,
};

const NAMES: Record<UsageGrouping, RawBuilder<string | null>> = {
  agent: sql`(SELECT a.name FROM agents a WHERE a.id = nullif(g.key, ${sql.lit(UNKNOWN)})::uuid)`,
  conversation: sql`(SELECT c.title FROM conversations c WHERE c.id = nullif(g.key, ${sql.lit(UNKNOWN)})::uuid)`,
  turn: sql`NULL`,
  model: sql`NULL`,
  day: sql`NULL`,
};

export async function sumUsage(db: Database, range: UsageRange): Promise<UsageAmount> {
  const { rows } = await sql<UsageAmount>`SELECT ${AMOUNT} FROM (${entriesOf(range)}) e`.execute(db);
  // An aggregate without groups has one row.
  const [total] = rows as [UsageAmount];
  return total;
}

/** Up to `limit` groups by descending key, after a key. Turn and conversation keys are ordered by time. */
export async function groupUsage(
  db: Database,
  range: UsageRange,
  by: UsageGrouping,
  { after, limit }: { after?: string | undefined; limit: number },
): Promise<UsageGroupRow[]> {
  const key = KEYS[by];
  const behind = after === undefined ? sql`true` : sql`${key} COLLATE "C" < ${after}`;
  const { rows } = await sql<UsageGroupRow>`
    SELECT g.*, ${NAMES[by]} AS name FROM (
      SELECT ${key} COLLATE "C" AS key, ${AMOUNT},
        ${by === 'turn' ? sql`min(agent::text)` : sql`NULL`} AS agent_id,
        ${by === 'turn' ? sql`min(conversation::text)` : sql`NULL`} AS conversation_id
      FROM (${entriesOf(range)}) e WHERE ${behind}
      GROUP BY 1 ORDER BY 1 DESC LIMIT ${limit}
    ) g ORDER BY g.key DESC`.execute(db);
  return rows;
}

export async function sumUsageOfTurns(
  db: Database,
  range: UsageRange,
  keys: readonly string[],
): Promise<TurnTotalRow[]> {
  const { rows } = await sql<TurnTotalRow>`
    WITH RECURSIVE tasks AS MATERIALIZED (
      SELECT coalesce(t.first_turn_id, t.id) AS id, coalesce(parent.first_turn_id, parent.id) AS parent_id
      FROM turns t
      JOIN delegations d ON d.turn_id = t.id
      JOIN turns parent ON parent.id = d.parent_turn_id
      WHERE t.workspace_id = ${range.workspaceId}
    ), below AS (
      SELECT key, key AS id FROM unnest(${[...keys]}::uuid[]) key
      UNION
      SELECT below.key, tasks.id FROM below JOIN tasks ON tasks.parent_id = below.id
    )
    SELECT below.key, (SELECT parent_id FROM tasks WHERE tasks.id = below.key) AS delegated_by, ${AMOUNT}
    FROM below JOIN (${entriesOf(range)}) e ON e.turn_id = below.id
    GROUP BY below.key`.execute(db);
  return rows;
}
