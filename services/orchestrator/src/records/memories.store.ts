import { type Insertable, type RawBuilder, sql } from 'kysely';
import { type AgentMemory, LIMITS } from '@uswarm/contract';
import type { Database } from '../platform/database/database.js';
import type { AgentMemoriesTable } from '../platform/database/tables.js';
import { type ListPosition, listPosition } from './list-cursor.js';

export interface MemoryRow {
  key: string;
  content: string;
  category: string;
  scope: MemoryScope;
  created_at: Date;
  updated_at: Date;
  created_by: Author;
  source: MemorySource | null;
}

/** `workspace`: all its agents have the memory. An agent's own memory with the same key hides it from this agent. */
export type MemoryScope = AgentMemory['scope'];

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
  scope?: MemoryScope | undefined;
}

export type NewMemory = Pick<MemoryRow, 'key' | 'content' | 'category'>;

export type ScopedMemory = NewMemory & { scope: MemoryScope };

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

function memorySource(alias: string): RawBuilder<MemorySource | null> {
  return sql<MemorySource | null>`(
    SELECT jsonb_build_object('message_id', source.id, 'conversation_id', source.conversation_id)
    FROM messages source WHERE source.id = ${sql.ref(`${alias}.message_id`)}
  )`;
}

const LOCK_SEED = 5;

/** Kept per agent. */
const DELETED_HASHES = 10_000;

/** Differs between agents, and ignores case and surrounding spaces. */
const hashOf = (agentId: string | RawBuilder<unknown>, text: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`sha256(convert_to(${agentId} || chr(10) || lower(btrim(${text})), 'UTF8'))`;

const hashesOf = (
  agentId: string | RawBuilder<unknown>,
  { key, content }: Pick<NewMemory, 'key' | 'content'>,
): RawBuilder<unknown> => sql`ARRAY[${hashOf(agentId, sql`${key}::text`)}, ${hashOf(agentId, sql`${content}::text`)}]`;

const SCOPE = sql`CASE WHEN m.workspace_id IS NULL THEN 'agent' ELSE 'workspace' END`;

const COLUMNS = sql`
  m.key, m.content, m.category, ${SCOPE} AS scope, m.created_at, m.updated_at, m.created_by, ${memorySource('m')} AS source`;

const ownAgent = (userId: string): RawBuilder<unknown> => sql`
  a.deleted_at IS NULL AND EXISTS (SELECT 1 FROM workspaces w WHERE w.id = a.workspace_id AND w.owner_id = ${userId})`;

const workspaceOf = (agentId: string): RawBuilder<unknown> =>
  sql`(SELECT workspace_id FROM agents WHERE id = ${agentId})`;

/** The memories that an agent has: its own, and its workspace's with other keys. */
export const memoriesOf = (agentId: string): RawBuilder<unknown> => sql`(
  SELECT m.* FROM agent_memories m WHERE m.agent_id = ${agentId} AND m.workspace_id IS NULL
  UNION ALL
  SELECT m.* FROM agent_memories m
  WHERE m.workspace_id = ${workspaceOf(agentId)} AND NOT EXISTS (
    SELECT FROM agent_memories own WHERE own.agent_id = ${agentId} AND own.key = m.key AND own.workspace_id IS NULL
  )
)`;

/** Restricts the table's rows `m` to some that an agent has. */
export const areMemoriesOf = (agentId: string, keys: readonly string[]): RawBuilder<unknown> => sql`
  (m.agent_id, m.key) IN (SELECT h.agent_id, h.key FROM ${memoriesOf(agentId)} h WHERE h.key = ANY (${[...keys]}))`;

/** Columns for the account's export. */
export const EXPORTED_MEMORY = COLUMNS;

/**
 * Lets another agent hold a workspace's memory, so that this agent can have its own with the same key. If each agent has
 * its own, no agent would read the workspace's, and it is replaced.
 */
async function passOn(db: Database, agentId: string, key: string): Promise<void> {
  await sql`
    UPDATE agent_memories m SET agent_id = other.id FROM (
      SELECT a.id FROM agents a WHERE a.workspace_id = ${workspaceOf(agentId)} AND NOT EXISTS (
        SELECT FROM agent_memories taken WHERE taken.agent_id = a.id AND taken.key = ${key}
      ) ORDER BY a.sort_order LIMIT 1
    ) other WHERE m.agent_id = ${agentId} AND m.key = ${key} AND m.workspace_id IS NOT NULL`.execute(db);
}

/** Deletes an agent's own memory if the workspace has one with this key, which would stay hidden from the agent. */
async function uncover(db: Database, agentId: string, key: string): Promise<void> {
  await sql`
    DELETE FROM agent_memories m WHERE m.agent_id = ${agentId} AND m.key = ${key} AND m.workspace_id IS NULL AND EXISTS (
      SELECT FROM agent_memories w WHERE w.workspace_id = ${workspaceOf(agentId)} AND w.key = ${key}
    )`.execute(db);
}

/** Gives a memory that the agent has another scope. @returns false if `limit` is reached */
async function move(db: Database, agentId: string, key: string, scope: MemoryScope, limit: number): Promise<boolean> {
  const own = sql`agent_id = ${agentId} AND workspace_id IS NULL`;
  const shared = sql`workspace_id = ${workspaceOf(agentId)}`;
  const [from, to] = scope === 'workspace' ? [own, shared] : [shared, own];
  const { rows } = await sql<{ isMoved: boolean; isFull: boolean }>`
    SELECT EXISTS (SELECT FROM ${memoriesOf(agentId)} m WHERE ${from} AND key = ${key}) AS "isMoved",
      (SELECT count(*) FROM agent_memories WHERE ${to} AND key <> ${key}) >= ${limit} AS "isFull"`.execute(db);
  const { isMoved = false, isFull = false } = rows[0] ?? {};
  if (!isMoved) return true;
  if (isFull) return false;
  // The moved text replaces the hidden one.
  await sql`DELETE FROM agent_memories WHERE ${to} AND key = ${key}`.execute(db);
  const workspaceId = scope === 'workspace' ? workspaceOf(agentId) : sql`NULL`;
  await sql`
    UPDATE agent_memories SET agent_id = ${agentId}, workspace_id = ${workspaceId}
    WHERE ${from} AND key = ${key}`.execute(db);
  return true;
}

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
      FROM ${memoriesOf(agentId)} m WHERE true ${ofCategory} ${keyset}
    ) m
    WHERE before < ${LIMITS.memoryListBytes}
    ORDER BY created_at, key`.execute(db);
  return rows;
}

/**
 * Blocks concurrent changes to the agent's and its workspace's memories.
 *
 * @returns the agent's workspace; undefined if the user has no such agent
 */
export async function lockMemories(db: Database, userId: string, agentId: string): Promise<string | undefined> {
  // Not the row: agents come last in the lock order. Release 0.2 locks only the agent.
  const { rows } = await sql<{ workspaceId: string }>`
    SELECT a.workspace_id AS "workspaceId",
      pg_advisory_xact_lock(hashtextextended(a.workspace_id::text, ${LOCK_SEED})),
      pg_advisory_xact_lock(hashtextextended(a.id::text, ${LOCK_SEED}))
    FROM agents a WHERE a.id = ${agentId} AND ${ownAgent(userId)}`.execute(db);
  return rows[0]?.workspaceId;
}

/** The scope of a memory that is saved: as given, else as the memory with this key has it, else by its category. */
export async function findMemoryScope(
  db: Database,
  agentId: string,
  { key, category, scope }: Pick<NewMemory, 'key' | 'category'> & { scope?: MemoryScope | undefined },
): Promise<MemoryScope> {
  if (scope !== undefined) return scope;
  const { rows } = await sql<{ scope: MemoryScope }>`
    SELECT ${SCOPE} AS scope FROM ${memoriesOf(agentId)} m WHERE m.key = ${key}`.execute(db);
  return rows[0]?.scope ?? (CORE_CATEGORIES.includes(category.toLowerCase()) ? 'workspace' : 'agent');
}

/** Creates or replaces a memory. Call it while the agent is locked. @returns undefined if `limit` is reached */
export async function putMemory(
  db: Database,
  agentId: string,
  { key, content, category, scope }: ScopedMemory,
  by: Writer,
  limit: number,
): Promise<MemoryRow | undefined> {
  const author: Author = by === 'user' ? 'user' : 'agent';
  const isShared = scope === 'workspace';
  await (isShared ? uncover : passOn)(db, agentId, key);
  const workspaceId = isShared ? workspaceOf(agentId) : sql`NULL::uuid`;
  const inScope = isShared
    ? sql`workspace_id = ${workspaceOf(agentId)}`
    : sql`agent_id = ${agentId} AND workspace_id IS NULL`;
  // A decision on a card continues an earlier message's turn, which led to the memory.
  const { rows } = await sql<MemoryRow>`
    INSERT INTO agent_memories AS m
      (agent_id, workspace_id, key, content, category, created_by, written_by, turn_id, message_id)
    SELECT coalesce((SELECT agent_id FROM agent_memories WHERE ${inScope} AND key = ${key}), ${agentId}),
      ${workspaceId}, ${key}, ${content}, ${category}, ${author}, ${author}, t.id,
      coalesce(t.resumes_message_id, t.user_message_id)
    FROM (SELECT) one LEFT JOIN turns t ON t.id = ${by === 'user' ? null : by.turnId}::uuid
    WHERE (SELECT count(*) FROM agent_memories WHERE ${inScope}) < ${limit}
      OR EXISTS (SELECT 1 FROM agent_memories WHERE ${inScope} AND key = ${key})
    ON CONFLICT (agent_id, key) DO UPDATE
      SET content = excluded.content, category = excluded.category, written_by = excluded.written_by,
        created_by = CASE WHEN excluded.written_by = 'user' THEN 'user' ELSE m.created_by END,
        turn_id = excluded.turn_id, message_id = excluded.message_id, updated_at = now(), untrusted = false,
        workspace_id = excluded.workspace_id
    RETURNING ${COLUMNS}`.execute(db);
  return rows[0];
}

/**
 * Changes a memory for the user, who is then its text's author.
 *
 * @returns undefined if it does not exist; `limit` if its new scope has as many memories
 */
export async function editMemory(
  db: Database,
  agentId: string,
  key: string,
  change: MemoryChange,
  limit: number,
): Promise<MemoryRow | 'limit' | undefined> {
  const { content = null, category = null, scope } = change;
  if (scope !== undefined && !(await move(db, agentId, key, scope, limit))) return 'limit';
  const { rows } = await sql<MemoryRow>`
    UPDATE agent_memories m SET content = coalesce(${content}, content), category = coalesce(${category}, category),
      written_by = CASE WHEN ${content}::text IS NULL THEN written_by ELSE 'user' END,
      untrusted = untrusted AND ${content}::text IS NULL, updated_at = now()
    WHERE ${areMemoriesOf(agentId, [key])}
    RETURNING ${COLUMNS}`.execute(db);
  return rows[0];
}

/** The text that a memory would replace or hide; undefined if an agent wrote it, or if it does not exist. */
export async function findMemoryOfUser(
  db: Database,
  agentId: string,
  { key, scope }: { key: string; scope: MemoryScope },
): Promise<string | undefined> {
  const { rows } = await sql<{ content: string; written_by: Author }>`
    SELECT content, written_by FROM (
      SELECT m.content, m.written_by, ${SCOPE} AS scope FROM agent_memories m
      WHERE m.key = ${key} AND (m.agent_id = ${agentId} AND m.workspace_id IS NULL OR m.workspace_id = ${workspaceOf(agentId)})
    ) found ORDER BY scope = ${scope} DESC LIMIT 1`.execute(db);
  return rows[0]?.written_by === 'user' ? rows[0].content : undefined;
}

/** Of an imported workspace. */
export async function restoreMemories(db: Database, rows: readonly Insertable<AgentMemoriesTable>[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('agent_memories').values(rows).execute();
}

/** Deletes what only a deleted agent remembers. Memories of the workspace stay. */
export async function deleteMemoriesOfAgent(db: Database, agentId: string): Promise<void> {
  await db.deleteFrom('agent_memories').where('agent_id', '=', agentId).where('workspace_id', 'is', null).execute();
}

/** Deletes a memory for the user, so that agents may not store it again. @returns false if it does not exist */
export async function deleteMemory(db: Database, userId: string, agentId: string, key: string): Promise<boolean> {
  const { rows } = await sql`
    WITH deleted AS (
      DELETE FROM agent_memories m USING agents a
      WHERE a.id = ${agentId} AND ${ownAgent(userId)} AND ${areMemoriesOf(agentId, [key])}
      RETURNING m.key, m.content, m.workspace_id
    ), concerned AS (
      SELECT a.id, d.key, d.content FROM deleted d JOIN agents a ON a.id = ${agentId} OR a.workspace_id = d.workspace_id
    ), marked AS (
      INSERT INTO deleted_memories (agent_id, hash)
      SELECT DISTINCT c.id, hash
      FROM concerned c, unnest(ARRAY[${hashOf(sql`c.id::text`, sql`key`)}, ${hashOf(sql`c.id::text`, sql`content`)}]) hash
      ON CONFLICT (agent_id, hash) DO UPDATE SET deleted_at = now()
    ), pruned AS (
      DELETE FROM deleted_memories d USING (
        SELECT agent_id, hash, row_number() OVER (PARTITION BY agent_id ORDER BY deleted_at DESC, hash) AS number
        FROM deleted_memories WHERE agent_id IN (SELECT id FROM concerned)
      ) numbered
      WHERE number > ${DELETED_HASHES} AND d.agent_id = numbered.agent_id AND d.hash = numbered.hash
    )
    SELECT FROM deleted`.execute(db);
  return rows.length > 0;
}

/** Deletes a memory for the agent: unlike `deleteMemory`, it may be stored again. @returns false if it does not exist */
export async function forgetMemory(db: Database, agentId: string, key: string): Promise<boolean> {
  const { numAffectedRows } = await sql`
    DELETE FROM agent_memories m WHERE ${areMemoriesOf(agentId, [key])}`.execute(db);
  return (numAffectedRows ?? 0n) > 0n;
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
  memory: Pick<ScopedMemory, 'key' | 'content' | 'scope'>,
): Promise<void> {
  const concerned =
    memory.scope === 'workspace' ? sql`a.workspace_id = ${workspaceOf(agentId)}` : sql`a.id = ${agentId}`;
  await sql`
    DELETE FROM deleted_memories d USING agents a
    WHERE ${concerned} AND d.agent_id = a.id AND d.hash = ANY (${hashesOf(sql`a.id::text`, memory)})`.execute(db);
}

/**
 * Memories that may be part of a turn, most relevant first, then last changed. Rare terms count more than frequent
 * ones, and earlier texts more than later ones.
 */
export async function rankMemories(db: Database, agentId: string, texts: readonly string[]): Promise<RankedMemory[]> {
  const { rows } = await sql<RankedMemory>`
    WITH memories AS MATERIALIZED (
      SELECT key, content, category, terms, updated_at FROM ${memoriesOf(agentId)} m
    ), wanted AS (
      SELECT term, max(1.0 / place) AS weight
      FROM unnest(${texts}::text[]) WITH ORDINALITY t (value, place), unnest(memory_terms(value)) term GROUP BY term
    ), matches AS (
      SELECT m.key, w.term, w.weight
      FROM memories m, unnest(m.terms) t (term) JOIN wanted w ON w.term = t.term
    ), rare AS (
      SELECT term, ln(1 + (SELECT count(*) FROM memories)::float / count(*)) AS value
      FROM matches GROUP BY term
    ), scores AS (
      SELECT key, sum(weight * value * value) AS score FROM matches JOIN rare USING (term) GROUP BY key
    ), ranked AS (
      SELECT key, lower(category) = ANY (${CORE_CATEGORIES}) AS core, updated_at,
        octet_length(key) + octet_length(content) + octet_length(category) AS bytes,
        coalesce(score, 0) / sqrt(10 + cardinality(terms)) AS score
      FROM memories LEFT JOIN scores USING (key)
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
    SELECT key, content, category FROM ${memoriesOf(agentId)} m WHERE key = ANY (${[...keys]})
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
