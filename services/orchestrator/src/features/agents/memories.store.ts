import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database/database.js';

export interface MemoryRow {
  key: string;
  content: string;
  category: string;
  created_at: Date;
  updated_at: Date;
}

export type NewMemory = Pick<MemoryRow, 'key' | 'content' | 'category'>;

export interface MemoryStore {
  /** Oldest first. Without asking whose they are. */
  list(agentId: string, category: string | undefined): Promise<MemoryRow[]>;
  /** Has others that would change the agent's memories wait. @returns whether there is such an agent of the user's */
  lock(userId: string, agentId: string, db: Database): Promise<boolean>;
  /** Creates or replaces, while the agent is locked. @returns undefined where one more would be above `limit` */
  put(agentId: string, memory: NewMemory, limit: number, db: Database): Promise<MemoryRow | undefined>;
  /** @returns whether it was there */
  delete(userId: string, agentId: string, key: string): Promise<boolean>;
  /** What a turn is told: core memories first, then those that changed last, up to `maxBytes`; oldest first. */
  recall(agentId: string, maxBytes: number): Promise<NewMemory[]>;
}

const ownAgent = (userId: string): RawBuilder<unknown> => sql`
  EXISTS (SELECT 1 FROM workspaces w WHERE w.id = a.workspace_id AND w.owner_id = ${userId})`;

export function createMemoryStore(database: Database): MemoryStore {
  return {
    list: (agentId, category) =>
      database
        .selectFrom('agent_memories')
        .select(['key', 'content', 'category', 'created_at', 'updated_at'])
        .where('agent_id', '=', agentId)
        .$if(category !== undefined, (query) => query.where('category', '=', category ?? ''))
        .orderBy('created_at')
        .orderBy('key')
        .execute(),

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
