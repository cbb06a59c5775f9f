import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { FORCE_CUSTOM_PLAN } from '../../platform/database/prepared.js';
import { type MessageStore, selectPage } from '../../records/messages.store.js';
import { keysetAfter, listOrder } from '../../records/position.js';
import { BOUNDED_COLUMNS } from '../../records/stored-bytes.js';

/**
 * Reads an agent's messages across conversations. The methods take the agent's id instead of a conversation id. Seqs
 * are per workspace, so they order messages across conversations.
 */
export type AgentHistoryStore = Pick<MessageStore, 'page' | 'hasAny'>;

export function createAgentHistoryStore(database: Database): AgentHistoryStore {
  return {
    async page(agentId, pageDirection, position, limit) {
      // Each conversation returns at most one page from its index. Only the final page's messages are read.
      const messages = sql`
        SELECT ${BOUNDED_COLUMNS}
        FROM (
          SELECT m.id
          FROM conversations c
          CROSS JOIN LATERAL (
            SELECT m.id, m.seq, m.before_seq FROM messages m WHERE m.conversation_id = c.id AND ${keysetAfter(pageDirection, position)}
            ORDER BY ${listOrder(pageDirection)} LIMIT ${limit}
          ) m
          WHERE c.agent_id = ${agentId}
          ORDER BY ${listOrder(pageDirection)} LIMIT ${limit}
        ) listed
        JOIN messages m ON m.id = listed.id`;
      return selectPage(messages, pageDirection, database);
    },

    async hasAny(agentId, pageDirection, position) {
      const { rows } = await sql<{ found: boolean }>`
        ${FORCE_CUSTOM_PLAN} SELECT EXISTS (
          SELECT 1 FROM conversations c
          WHERE c.agent_id = ${agentId}
            AND EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND ${keysetAfter(pageDirection, position)})
        ) AS found`.execute(database);
      return rows[0]?.found ?? false;
    },
  };
}
