import { type RawBuilder, sql } from 'kysely';
import { LIMITS } from '@uswarm/contract';
import type { Database } from '../../database/database.js';
import type { MemoryPlace } from './memory-cursor.js';

export interface MemoryRow {
  key: string;
  content: string;
  category: string;
  created_at: Date;
  updated_at: Date;
}

/** `found`: how many there are from here on, also those that do not fit into one response. */
export type ListedMemory = MemoryRow & { place: MemoryPlace; found: number };

/** Bytes of everything in a response of a memory but its texts. */
const FIELD_BYTES = 200;

export type NewMemory = Pick<MemoryRow, 'key' | 'content' | 'category'>;

export interface MemoryStore {
  /** Oldest first, as many as fit into one response, at least one. Does not check who owns the agent. */
  list(agentId: string, category: string | undefined, after?: MemoryPlace): Promise<ListedMemory[]>;
  /** Has others that would change the agent's memories wait. @returns whether there is such an agent of the user's */
  lock(userId: string, agentId: string, db: Database): Promise<boolean>;
  /** Creates or replaces, while the agent is locked. @returns undefined if one more would exceed `limit` */
  put(agentId: string, memory: NewMemory, limit: number, db: Database): Promise<MemoryRow | undefined>;
  /** @returns whether it was there */
  delete(userId: string, agentId: string, key: string): Promise<boolean>;
  /** What a turn is told: core memories first, then those that changed last, up to `maxBytes`; oldest first. */
  recall(agentId: string, maxBytes: number): Promise<NewMemory[]>;
}

const BYTES = sql`octet_length(key) + octet_length(content) + octet_length(category) + ${sql.lit(FIELD_BYTES)}`;

const ownAgent = (userId: string): RawBuilder<unknown> => sql`
  EXISTS (SELECT 1 FROM workspaces w WHERE w.id = a.workspace_id AND w.owner_id = ${userId})`;

export function createMemoryStore(database: Database): MemoryStore {
  return {
    async list(agentId, category, after) {
      const ofCategory = category === undefined ? sql`` : sql`AND category = ${category}`;
      const beyond =
        after === undefined ? sql`` : sql`AND (created_at, key) > (${after.createdAt}::timestamptz, ${after.key})`;
      const { rows } = await sql<ListedMemory>`
        SELECT key, content, category, created_at, updated_at, found, jsonb_build_object(
          'key', key, 'createdAt', to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
        ) AS place
        FROM (
          SELECT m.*, count(*) OVER () AS found, coalesce(sum(${BYTES}) OVER (
            ORDER BY created_at, key ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
          ), 0) AS before
          FROM agent_memories m WHERE agent_id = ${agentId} ${ofCategory} ${beyond}
        ) m
        WHERE before < ${LIMITS.listBytes}
        ORDER BY created_at, key`.execute(database);
      return rows;
    },

    async lock(userId, agentId, db) {
      // Not FOR UPDATE: messages and turns that refer to the agent need not wait.
      const { rows } = await sql`
        SELECT 1 FROM agents a WHERE a.id = ${agentId} AND ${ownAgent(userId)} FOR NO KEY UPDATE OF a`.execute(db);
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
      const { numAffectedRows } = await sql`
        DELETE FROM agent_memories m USING agents a
        WHERE m.agent_id = ${agentId} AND m.key = ${key} AND a.id = m.agent_id AND ${ownAgent(userId)}`.execute(
        database,
      );
      return numAffectedRows !== undefined && numAffectedRows > 0n;
    },

    async recall(agentId, maxBytes) {
      const { rows } = await sql<NewMemory>`
        SELECT key, content, category FROM (
          SELECT *, sum(octet_length(key) + octet_length(content) + octet_length(category))
            OVER (ORDER BY category = 'core' DESC, updated_at DESC, key) AS bytes
          FROM agent_memories WHERE agent_id = ${agentId}
        ) m
        WHERE bytes <= ${maxBytes}
        ORDER BY created_at, key`.execute(database);
      return rows;
    },
  };
}
