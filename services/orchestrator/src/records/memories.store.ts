import { type RawBuilder, sql } from 'kysely';
import { LIMITS } from '@uswarm/contract';
import type { Database } from '../platform/database/database.js';
import { type ListPosition, listPosition } from './list-cursor.js';

export interface MemoryRow {
  key: string;
  content: string;
  category: string;
  created_at: Date;
  updated_at: Date;
  created_by: Author;
  source: MemorySource | null;
}

export type Author = 'user' | 'agent';

/** The user message that led an agent to save a memory. */
export interface MemorySource {
  message_id: string;
  conversation_id: string;
}

export type Writer = 'user' | { turnId: string };

/** `found`: how many memories remain from this one on, even if they do not fit into one response. */
export type ListedMemory = MemoryRow & { position: ListPosition; found: number };

/** Size in a response without the memory's texts. */
const FIELD_BYTES = 200;

export interface MemoryChange {
  content?: string | undefined;
  category?: string | undefined;
}

export type NewMemory = Pick<MemoryRow, 'key' | 'content' | 'category'>;

export interface RankedMemory {
  key: string;
  /** True if its category is always part of a turn. */
  core: boolean;
  bytes: number;
  updated_at: Date;
  /** 0 without a match. */
  score: number;
}

/** Memories in these categories are sent to every turn. Lower case. */
const CORE_CATEGORIES = ['core', 'user', 'profile', 'preferences', 'pinned'];

/** Maximum number of ranked memories per group: more do not fit into a turn. */
const CANDIDATES = 400;

/** Stored in the database, also by a migration. */
export const MEMORY_FOLD_JOB = 'memory-fold';
/** Few, because each may have the maximum number of memories. */
const AGENTS_FOLDED_AT_ONCE = 20;

const BYTES = sql`octet_length(key) + octet_length(content) + octet_length(category) + ${sql.lit(FIELD_BYTES)}`;

export function memorySource(alias: string): RawBuilder<MemorySource | null> {
  return sql<MemorySource | null>`(
    SELECT jsonb_build_object('message_id', source.id, 'conversation_id', source.conversation_id)
    FROM messages source WHERE source.id = ${sql.ref(`${alias}.message_id`)}
  )`;
}

const LOCK_SEED = 5;

/** Kept per agent. */
const DELETED_HASHES = 10_000;

/** Differs between agents, and ignores case and surrounding spaces. */
const hashOf = (agentId: string, text: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`sha256(convert_to(${agentId} || chr(10) || lower(btrim(${text})), 'UTF8'))`;

const hashesOf = (agentId: string, { key, content }: Pick<NewMemory, 'key' | 'content'>): RawBuilder<unknown> =>
  sql`ARRAY[${hashOf(agentId, sql`${key}::text`)}, ${hashOf(agentId, sql`${content}::text`)}]`;

const COLUMNS = sql`
  m.key, m.content, m.category, m.created_at, m.updated_at, m.created_by, ${memorySource('m')} AS source`;

const ownAgent = (userId: string): RawBuilder<unknown> => sql`
  EXISTS (SELECT 1 FROM workspaces w WHERE w.id = a.workspace_id AND w.owner_id = ${userId})`;

/**
 * Oldest first: all, unless the memory limits are above the default; see `LIMITS.memoryListBytes`. Does not check the
 * owner.
 */
export async function listMemories(
  db: Database,
  agentId: string,
  category: string | undefined,
  after?: ListPosition,
): Promise<ListedMemory[]> {
  const ofCategory = category === undefined ? sql`` : sql`AND category = ${category}`;
  const keyset = after === undefined ? sql`` : sql`AND (created_at, key) > (${after.time}::timestamptz, ${after.key})`;
  const { rows } = await sql<ListedMemory>`
    SELECT ${COLUMNS}, found,
      ${listPosition('created_at', 'key')} AS position
    FROM (
      SELECT m.*, count(*) OVER () AS found, coalesce(sum(${BYTES}) OVER (
        ORDER BY created_at, key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ), 0) AS before
      FROM agent_memories m WHERE agent_id = ${agentId} ${ofCategory} ${keyset}
    ) m
    WHERE before < ${LIMITS.memoryListBytes}
    ORDER BY created_at, key`.execute(db);
  return rows;
}

/**
 * Blocks concurrent changes to the agent's memories.
 *
 * @returns the agent's workspace; undefined if the user has no such agent
 */
export async function lockMemories(db: Database, userId: string, agentId: string): Promise<string | undefined> {
  // Not the row: agents come last in the lock order.
  const { rows } = await sql<{ workspaceId: string }>`
    SELECT a.workspace_id AS "workspaceId", pg_advisory_xact_lock(hashtextextended(a.id::text, ${LOCK_SEED}))
    FROM agents a WHERE a.id = ${agentId} AND ${ownAgent(userId)}`.execute(db);
  return rows[0]?.workspaceId;
}

/** Creates or replaces a memory. Call it while the agent is locked. @returns undefined if `limit` is reached */
export async function putMemory(
  db: Database,
  agentId: string,
  { key, content, category }: NewMemory,
  by: Writer,
  limit: number,
): Promise<MemoryRow | undefined> {
  const author: Author = by === 'user' ? 'user' : 'agent';
  // A decision on a card continues an earlier message's turn, which led to the memory.
  const { rows } = await sql<MemoryRow>`
    INSERT INTO agent_memories AS m (agent_id, key, content, category, created_by, written_by, turn_id, message_id)
    SELECT ${agentId}, ${key}, ${content}, ${category}, ${author}, ${author}, t.id,
      coalesce(t.resumes_message_id, t.user_message_id)
    FROM (SELECT) one LEFT JOIN turns t ON t.id = ${by === 'user' ? null : by.turnId}::uuid
    WHERE (SELECT count(*) FROM agent_memories WHERE agent_id = ${agentId}) < ${limit}
      OR EXISTS (SELECT 1 FROM agent_memories WHERE agent_id = ${agentId} AND key = ${key})
    ON CONFLICT (agent_id, key) DO UPDATE
      SET content = excluded.content, category = excluded.category, written_by = excluded.written_by,
        created_by = CASE WHEN excluded.written_by = 'user' THEN 'user' ELSE m.created_by END,
        turn_id = excluded.turn_id, message_id = excluded.message_id, updated_at = now(), untrusted = false
    RETURNING ${COLUMNS}`.execute(db);
  return rows[0];
}

/** Changes a memory for the user, who is then its text's author. @returns undefined if it does not exist */
export async function editMemory(
  db: Database,
  agentId: string,
  key: string,
  change: MemoryChange,
): Promise<MemoryRow | undefined> {
  const { content = null, category = null } = change;
  const { rows } = await sql<MemoryRow>`
    UPDATE agent_memories m SET content = coalesce(${content}, content), category = coalesce(${category}, category),
      written_by = CASE WHEN ${content}::text IS NULL THEN written_by ELSE 'user' END,
      untrusted = untrusted AND ${content}::text IS NULL, updated_at = now()
    WHERE agent_id = ${agentId} AND key = ${key}
    RETURNING ${COLUMNS}`.execute(db);
  return rows[0];
}

/** A memory's text; undefined if an agent wrote it, or if it does not exist. */
export async function findMemoryOfUser(db: Database, agentId: string, key: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('agent_memories')
    .select('content')
    .where('agent_id', '=', agentId)
    .where('key', '=', key)
    .where('written_by', '=', 'user')
    .executeTakeFirst();
  return row?.content;
}

/** Deletes a memory for the user, so that agents may not store it again. @returns false if it does not exist */
export async function deleteMemory(db: Database, userId: string, agentId: string, key: string): Promise<boolean> {
  const { rows } = await sql`
    WITH deleted AS (
      DELETE FROM agent_memories m USING agents a
      WHERE m.agent_id = ${agentId} AND m.key = ${key} AND a.id = m.agent_id AND ${ownAgent(userId)}
      RETURNING m.key, m.content
    ), marked AS (
      INSERT INTO deleted_memories (agent_id, hash)
      SELECT DISTINCT ${agentId}::uuid, hash
      FROM deleted, unnest(ARRAY[${hashOf(agentId, sql`key`)}, ${hashOf(agentId, sql`content`)}]) hash
      ON CONFLICT (agent_id, hash) DO UPDATE SET deleted_at = now()
    ), pruned AS (
      DELETE FROM deleted_memories WHERE agent_id = ${agentId} AND hash IN (
        SELECT hash FROM deleted_memories WHERE agent_id = ${agentId}
        ORDER BY deleted_at DESC, hash OFFSET ${DELETED_HASHES}
      )
    )
    SELECT FROM deleted`.execute(db);
  return rows.length > 0;
}

/** Deletes a memory for the agent: unlike `delete`, it may be stored again. @returns false if it does not exist */
export async function forgetMemory(db: Database, agentId: string, key: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('agent_memories')
    .where('agent_id', '=', agentId)
    .where('key', '=', key)
    .executeTakeFirstOrThrow();
  return numDeletedRows > 0n;
}

/** True if the user deleted a memory with this key or with this content. */
export async function isMemoryDeleted(
  db: Database,
  agentId: string,
  memory: Pick<NewMemory, 'key' | 'content'>,
): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM deleted_memories WHERE agent_id = ${agentId} AND hash = ANY (${hashesOf(agentId, memory)})
    LIMIT 1`.execute(db);
  return rows.length > 0;
}

/** Lets agents store a memory again that the user deleted. */
export async function permitMemory(
  db: Database,
  agentId: string,
  memory: Pick<NewMemory, 'key' | 'content'>,
): Promise<void> {
  await sql`
    DELETE FROM deleted_memories
    WHERE agent_id = ${agentId} AND hash = ANY (${hashesOf(agentId, memory)})`.execute(db);
}

/**
 * Memories that may be part of a turn, most relevant first, then last changed. Rare terms count more than frequent
 * ones, and earlier texts more than later ones.
 */
export async function rankMemories(db: Database, agentId: string, texts: readonly string[]): Promise<RankedMemory[]> {
  const { rows } = await sql<RankedMemory>`
    WITH wanted AS (
      SELECT term, max(1.0 / place) AS weight
      FROM unnest(${texts}::text[]) WITH ORDINALITY t (value, place), unnest(memory_terms(value)) term GROUP BY term
    ), matches AS (
      SELECT m.key, w.term, w.weight
      FROM agent_memories m, unnest(m.terms) t (term) JOIN wanted w ON w.term = t.term
      WHERE m.agent_id = ${agentId}
    ), rare AS (
      SELECT term, ln(1 + (SELECT count(*) FROM agent_memories WHERE agent_id = ${agentId})::float / count(*)) AS value
      FROM matches GROUP BY term
    ), scores AS (
      SELECT key, sum(weight * value * value) AS score FROM matches JOIN rare USING (term) GROUP BY key
    ), ranked AS (
      SELECT key, lower(category) = ANY (${CORE_CATEGORIES}) AS core, updated_at,
        octet_length(key) + octet_length(content) + octet_length(category) AS bytes,
        coalesce(score, 0) / sqrt(10 + cardinality(terms)) AS score
      FROM agent_memories LEFT JOIN scores USING (key) WHERE agent_id = ${agentId}
    )
    (SELECT key, core, bytes, updated_at, score FROM ranked WHERE core ORDER BY updated_at DESC, key LIMIT ${CANDIDATES})
    UNION
    (SELECT key, core, bytes, updated_at, score FROM ranked ORDER BY score DESC, updated_at DESC, key LIMIT ${CANDIDATES})
    ORDER BY score DESC, updated_at DESC, key`.execute(db);
  return rows;
}

/** Oldest first. */
export async function readMemories(db: Database, agentId: string, keys: readonly string[]): Promise<NewMemory[]> {
  if (keys.length === 0) return [];
  const { rows } = await sql<NewMemory>`
    SELECT key, content, category FROM agent_memories WHERE agent_id = ${agentId} AND key = ANY (${keys})
    ORDER BY created_at, key`.execute(db);
  return rows;
}

/** Rewrites memories with outdated terms, for the next agents after an id. @returns the last id that it checked */
export async function foldMemoriesAgain(db: Database, after: string): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    WITH batch AS MATERIALIZED (
      SELECT id FROM agents WHERE id > ${after} ORDER BY id LIMIT ${AGENTS_FOLDED_AT_ONCE}
    ), written AS (
      UPDATE agent_memories m SET content = m.content FROM batch
      WHERE m.agent_id = batch.id AND m.terms IS DISTINCT FROM memory_terms(m.key || ' ' || m.content)
    )
    SELECT id FROM batch ORDER BY id DESC LIMIT 1`.execute(db);
  return rows[0]?.id;
}
