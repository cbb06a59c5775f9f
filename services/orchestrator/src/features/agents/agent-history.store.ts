import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database/database.js';
import { PLANNED_EACH_TIME } from '../../database/prepared.js';
import { MESSAGE_COLUMNS, type MessageStore } from '../messages/messages.store.js';
import type { MessageRow } from '../messages/message-view.js';

/**
 * Messages of all conversations with one agent: as the pages of one conversation, with the agent's id in place
 * of the conversation's. Seqs are the workspace's, so they order the messages of several conversations too.
 */
export type AgentHistoryStore = Pick<MessageStore, 'page' | 'hasAny'>;

type Walk = 'older' | 'newer';

const beyond = (walk: Walk, seq: number | null): RawBuilder<unknown> => {
  if (seq === null) return sql`true`;
  return walk === 'older' ? sql`seq < ${seq}` : sql`seq > ${seq}`;
};

export function createAgentHistoryStore(database: Database): AgentHistoryStore {
  return {
    async page(agentId, walk, seq, limit) {
      const order = walk === 'older' ? sql`DESC` : sql`ASC`;
      // Each conversation gives as many as a page has, from its index alone; only those of the page are read.
      const { rows } = await sql<MessageRow>`
        ${PLANNED_EACH_TIME} SELECT ${MESSAGE_COLUMNS}
        FROM (
          SELECT c.id, place.seq
          FROM conversations c
          CROSS JOIN LATERAL (
            SELECT seq FROM messages WHERE conversation_id = c.id AND ${beyond(walk, seq)}
            ORDER BY seq ${order} LIMIT ${limit}
          ) place
          WHERE c.agent_id = ${agentId}
          ORDER BY place.seq ${order} LIMIT ${limit}
        ) listed
        JOIN messages m ON m.conversation_id = listed.id AND m.seq = listed.seq
        LEFT JOIN agents a ON a.id = m.agent_id
        LEFT JOIN runtimes r ON r.workspace_id = m.workspace_id
        ORDER BY m.seq ${order}`.execute(database);
      return rows;
    },

    async hasAny(agentId, walk, seq) {
      const { rows } = await sql<{ found: boolean }>`
        ${PLANNED_EACH_TIME} SELECT EXISTS (
          SELECT 1 FROM conversations c
          WHERE c.agent_id = ${agentId}
            AND EXISTS (SELECT 1 FROM messages WHERE conversation_id = c.id AND ${beyond(walk, seq)})
        ) AS found`.execute(database);
      return rows[0]?.found ?? false;
    },
  };
}
