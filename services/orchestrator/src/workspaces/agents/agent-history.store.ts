import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { FORCE_CUSTOM_PLAN } from '../../platform/database/prepared.js';
import { selectPage } from '../../records/messages.store.js';
import { keysetAfter, listOrder, type PageDirection, type Position } from '../../records/position.js';
import type { PageRow } from '../../chat/message-view.js';
import { BOUNDED_COLUMNS } from '../../records/stored-bytes.js';

export async function pageAgentHistory(
  db: Database,
  agentId: string,
  pageDirection: PageDirection,
  position: Position | null,
  limit: number,
): Promise<PageRow[]> {
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
  return selectPage(db, messages, pageDirection);
}

export async function hasAgentHistory(
  db: Database,
  agentId: string,
  pageDirection: PageDirection,
  position: Position,
): Promise<boolean> {
  const { rows } = await sql<{ found: boolean }>`
    ${FORCE_CUSTOM_PLAN} SELECT EXISTS (
      SELECT 1 FROM conversations c
      WHERE c.agent_id = ${agentId}
        AND EXISTS (SELECT 1 FROM messages m WHERE m.conversation_id = c.id AND ${keysetAfter(pageDirection, position)})
    ) AS found`.execute(db);
  return rows[0]?.found ?? false;
}
