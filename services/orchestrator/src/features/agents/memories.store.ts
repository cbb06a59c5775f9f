import { type RawBuilder, sql } from 'kysely';
import { LIMITS } from '@uswarm/contract';
import type { Database } from '../../database/database.js';
import { type ListPosition, listPosition } from '../messages/list-cursor.js';

export interface MemoryRow {
  key: string;
  content: string;
  category: string;
  created_at: Date;
  updated_at: Date;
}

/** `found`: the number of memories from this one on, including those that do not fit into one response. */
export type ListedMemory = MemoryRow & { position: ListPosition; found: number };

/** Size of a memory in a response without its texts. */
const FIELD_BYTES = 200;

export type NewMemory = Pick<MemoryRow, 'key' | 'content' | 'category'>;

/** A memory that a turn may receive, without its text. */
export interface RankedMemory {
  key: string;
  /** Whether its category is always part of a turn. */
  core: boolean;
  bytes: number;
  updated_at: Date;
  /** 0 if it has nothing in common with the texts. */
  score: number;
}

/** Categories of memories that every turn receives, in lower case. */
const CORE_CATEGORIES = ['core', 'user', 'profile', 'preferences', 'pinned'];

/** The maximum number of ranked memories per group: more do not fit into a turn. */
const CANDIDATES = 400;

export interface MemoryStore {
  /** Oldest first: as many as fit into one response, at least one. Does not check the owner. */
  list(agentId: string, category: string | undefined, after?: ListPosition): Promise<ListedMemory[]>;
  /** Blocks concurrent changes of the agent's memories. @returns false if the user has no such agent */
  lock(userId: string, agentId: string, db: Database): Promise<boolean>;
  /** Creates or replaces a memory. Call it while the agent is locked. @returns undefined if `limit` is reached */
  put(agentId: string, memory: NewMemory, limit: number, db: Database): Promise<MemoryRow | undefined>;
  /** Deletes a memory for the user, so that agents may not store it again. @returns false if it does not exist */
  delete(userId: string, agentId: string, key: string): Promise<boolean>;
  /** Deletes a memory for the agent. @returns false if it does not exist */
  forget(agentId: string, key: string, db: Database): Promise<boolean>;
  /** Whether the user deleted a memory with this key or with this content. */
  isDeleted(agentId: string, memory: Pick<NewMemory, 'key' | 'content'>, db: Database): Promise<boolean>;
  /** Lets agents store a memory again that the user deleted. */
  permit(agentId: string, memory: Pick<NewMemory, 'key' | 'content'>, db: Database): Promise<void>;
  /**
   * Memories that may be part of a turn, the most relevant first, then the last changed. Terms that few memories have
   * count more, and earlier texts count more than later ones.
   */
  rank(agentId: string, texts: readonly string[]): Promise<RankedMemory[]>;
  /** The memories with these keys, oldest first. */
  read(agentId: string, keys: readonly string[]): Promise<NewMemory[]>;
}

const BYTES = sql`octet_length(key) + octet_length(content) + octet_length(category) + ${sql.lit(FIELD_BYTES)}`;

/** Seed of the advisory lock that serializes changes of the memories of an agent. */
const LOCK_SEED = 5;

/** The number of hashes of deleted memories that are kept per agent. */
const DELETED_HASHES = 10_000;

/** A hash of a text that differs between agents, and ignores case and surrounding spaces. */
const hashOf = (agentId: string, text: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`sha256(convert_to(${agentId} || chr(10) || lower(btrim(${text})), 'UTF8'))`;

const hashesOf = (agentId: string, { key, content }: Pick<NewMemory, 'key' | 'content'>): RawBuilder<unknown> =>
  sql`ARRAY[${hashOf(agentId, sql`${key}::text`)}, ${hashOf(agentId, sql`${content}::text`)}]`;

const ownAgent = (userId: string): RawBuilder<unknown> => sql`
  EXISTS (SELECT 1 FROM workspaces w WHERE w.id = a.workspace_id AND w.owner_id = ${userId})`;

export function createMemoryStore(database: Database): MemoryStore {
  return {
    async list(agentId, category, after) {
      const ofCategory = category === undefined ? sql`` : sql`AND category = ${category}`;
      const keyset =
        after === undefined ? sql`` : sql`AND (created_at, key) > (${after.time}::timestamptz, ${after.key})`;
      const { rows } = await sql<ListedMemory>`
        SELECT key, content, category, created_at, updated_at, found,
          ${listPosition('created_at', 'key')} AS position
        FROM (
          SELECT m.*, count(*) OVER () AS found, coalesce(sum(${BYTES}) OVER (
            ORDER BY created_at, key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
          ), 0) AS before
          FROM agent_memories m WHERE agent_id = ${agentId} ${ofCategory} ${keyset}
        ) m
        WHERE before < ${LIMITS.listBytes}
        ORDER BY created_at, key`.execute(database);
      return rows;
    },

    async lock(userId, agentId, db) {
      // Not the row: agents come last in the lock order.
      const { rows } = await sql`
        SELECT pg_advisory_xact_lock(hashtextextended(a.id::text, ${LOCK_SEED}))
        FROM agents a WHERE a.id = ${agentId} AND ${ownAgent(userId)}`.execute(db);
      return rows.length > 0;
    },

    async put(agentId, { key, content, category }, limit, db) {
      const { rows } = await sql<MemoryRow>`
        INSERT INTO agent_memories (agent_id, key, content, category)
        SELECT ${agentId}, ${key}, ${content}, ${category}
        WHERE (SELECT count(*) FROM agent_memories WHERE agent_id = ${agentId}) < ${limit}
          OR EXISTS (SELECT 1 FROM agent_memories WHERE agent_id = ${agentId} AND key = ${key})
        ON CONFLICT (agent_id, key) DO UPDATE
          SET content = excluded.content, category = excluded.category, updated_at = now()
        RETURNING key, content, category, created_at, updated_at`.execute(db);
      return rows[0];
    },

    async delete(userId, agentId, key) {
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
        SELECT FROM deleted`.execute(database);
      return rows.length > 0;
    },

    async forget(agentId, key, db) {
      const { numDeletedRows } = await db
        .deleteFrom('agent_memories')
        .where('agent_id', '=', agentId)
        .where('key', '=', key)
        .executeTakeFirstOrThrow();
      return numDeletedRows > 0n;
    },

    async isDeleted(agentId, memory, db) {
      const { rows } = await sql`
        SELECT FROM deleted_memories WHERE agent_id = ${agentId} AND hash = ANY (${hashesOf(agentId, memory)})
        LIMIT 1`.execute(db);
      return rows.length > 0;
    },

    async permit(agentId, memory, db) {
      await sql`
        DELETE FROM deleted_memories
        WHERE agent_id = ${agentId} AND hash = ANY (${hashesOf(agentId, memory)})`.execute(db);
    },

    async rank(agentId, texts) {
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
        ORDER BY score DESC, updated_at DESC, key`.execute(database);
      return rows;
    },

    async read(agentId, keys) {
      const { rows } = await sql<NewMemory>`
        SELECT key, content, category FROM agent_memories WHERE agent_id = ${agentId} AND key = ANY (${keys})
        ORDER BY created_at, key`.execute(database);
      return rows;
    },
  };
}
