import { LIMITS } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { APPROVAL_KEY, IS_OPEN } from '../records/approvals.store.js';
import { type ListPosition, listPosition } from '../records/list-cursor.js';
import type { MessageRow } from './message-view.js';
import { messageColumns, MESSAGE_JOINS } from '../records/messages.store.js';
import { FIELD_BYTES, STORED_BYTES } from '../records/stored-bytes.js';

export type ListedCard = MessageRow & { listed_at: ListPosition };

/** The message `m` is a card without a choice: the condition in the index messages_open_cards. */
const WITHOUT_CHOICE = sql`
  m.content ->> 'type' = 'action_card' AND m.content ->> 'selected_action_id' IS NULL AND m.error_code IS NULL`;

/** Approvals are closed by name. A question is answered also by another message of the user. */
const WAITS = sql`CASE WHEN starts_with(m.turn_key, ${sql.lit(APPROVAL_KEY)})
  THEN EXISTS (SELECT FROM tool_approvals t WHERE t.card_message_id = m.id AND ${IS_OPEN})
  ELSE m.status <> 'failed' AND NOT EXISTS (
    SELECT FROM messages newer
    WHERE newer.conversation_id = m.conversation_id AND newer.seq > coalesce(m.shown_seq, m.seq) AND newer.role = 'user'
  ) END`;

/** Oldest first. Fewer than `limit` if they are long: then at least one more than fits into one response. */
export async function listOpenCards(
  db: Database,
  userId: string,
  {
    limit,
    after,
    workspaceIds = null,
  }: { limit: number; after?: ListPosition | undefined; workspaceIds?: readonly string[] | null },
): Promise<ListedCard[]> {
  const behind =
    after === undefined ? sql`` : sql`AND (m.created_at, m.id) > (${after.time}::timestamptz, ${after.key}::uuid)`;
  const within = workspaceIds === null ? sql`` : sql`AND w.id = ANY (${[...workspaceIds]}::uuid[])`;
  const { rows } = await sql<ListedCard>`
    SELECT ${messageColumns(sql`m.content`)}, ${listPosition('m.created_at', 'm.id')} AS listed_at
    FROM (
      SELECT page.id, coalesce(sum(page.bytes) OVER (
        ORDER BY created_at, id ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING
      ), 0) AS before
      FROM (
        SELECT m.id, m.created_at, ${STORED_BYTES} + ${sql.lit(FIELD_BYTES)} AS bytes
        FROM workspaces w JOIN messages m ON m.workspace_id = w.id
        WHERE w.owner_id = ${userId} AND ${WITHOUT_CHOICE} AND ${WAITS} ${within} ${behind}
        ORDER BY m.created_at, m.id LIMIT ${limit}
      ) page
    ) page JOIN messages m ON m.id = page.id ${MESSAGE_JOINS}
    WHERE page.before < ${sql.lit(LIMITS.listBytes)}
    ORDER BY m.created_at, m.id`.execute(db);
  return rows;
}
