import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import { FORCE_CUSTOM_PLAN } from '../../database/prepared.js';
import { MESSAGE_COLUMNS, MESSAGE_JOINS, type MessageStore } from '../messages/messages.store.js';
import type { PageRow } from '../messages/message-view.js';
import { beyond, listed } from '../messages/place.js';
import { bounded, BOUNDED_COLUMNS, JOIN_BOUNDED } from '../messages/stored-bytes.js';

/**
 * Messages of all conversations with one agent: as the pages of one conversation, with the agent's id in place
 * of the conversation's. Seqs are the workspace's, so places order the messages of several conversations too.
 */
export type AgentHistoryStore = Pick<MessageStore, 'page' | 'hasAny'>;

export function createAgentHistoryStore(database: Database): AgentHistoryStore {
  return {
    async page(agentId, walk, place, limit) {
      // Each conversation gives as many as a page has, from its index alone; only those of the page are read.
      const messages = sql`
        SELECT ${BOUNDED_COLUMNS}
        FROM (
          SELECT m.id
          FROM conversations c
          CROSS JOIN LATERAL (
            SELECT m.id, m.seq, m.before_seq FROM messages m WHERE m.conversation_id = c.id AND ${beyond(walk, place)}
            ORDER BY ${listed(walk)} LIMIT ${limit}
          ) m
          WHERE c.agent_id = ${agentId}
          ORDER BY ${listed(walk)} LIMIT ${limit}
        ) listed
        JOIN messages m ON m.id = listed.id`;
      const { rows } = await sql<PageRow>`
        ${FORCE_CUSTOM_PLAN} SELECT ${MESSAGE_COLUMNS}, page.found, page.total_bytes
        FROM ${bounded(messages, walk)} ${JOIN_BOUNDED} ${MESSAGE_JOINS}
        ORDER BY page.place`.execute(database);
      return rows;
    },

    async hasAny(agentId, walk, place) {
      const { rows } = await sql<{ found: boolean }>`
        ${FORCE_CUSTOM_PLAN} SELECT EXISTS (
          SELECT 1 FROM conversations c
          WHERE c.agent_id = ${agentId}
            AND EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND ${beyond(walk, place)})
        ) AS found`.execute(database);
      return rows[0]?.found ?? false;
    },
  };
}
