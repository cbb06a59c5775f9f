import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { IS_UNREAD, UNREAD } from '../records/unread.js';

export { moveReadPosition } from '../records/conversation-rows.js';

/** The read state of a conversation. */
export interface ReadState {
  /** Messages shown at or before this seq are read. */
  seq: number;
  unread: number;
  /** The highest seq of its messages. */
  newest: number;
}

/** @returns undefined if the conversation is not in the workspace */
export async function findReadState(
  db: Database,
  workspaceId: string,
  conversationId: string,
): Promise<ReadState | undefined> {
  const { rows } = await sql<ReadState>`
    SELECT c.read_seq AS seq, ${UNREAD} AS unread,
      coalesce((SELECT m.seq FROM messages m WHERE m.conversation_id = c.id ORDER BY m.seq DESC LIMIT 1), 0) AS newest
    FROM conversations c
    WHERE c.id = ${conversationId} AND c.workspace_id = ${workspaceId}`.execute(db);
  return rows[0];
}

/**
 * The seq at which this message, and every unread message listed before it, was shown.
 *
 * @returns undefined if the message is not in the conversation
 */
export async function findReadSeq(
  db: Database,
  conversationId: string,
  messageId: string,
): Promise<number | undefined> {
  const { rows } = await sql<{ seq: number }>`
    SELECT greatest(coalesce(it.shown_seq, it.seq), (
      SELECT max(coalesce(m.shown_seq, m.seq)) FROM messages m
      WHERE ${IS_UNREAD}
        AND (coalesce(m.before_seq, m.seq), m.before_seq IS NULL, m.seq)
          <= (coalesce(it.before_seq, it.seq), it.before_seq IS NULL, it.seq)
    )) AS seq
    FROM messages it JOIN conversations c ON c.id = it.conversation_id
    WHERE it.id = ${messageId} AND it.conversation_id = ${conversationId}`.execute(db);
  return rows[0]?.seq;
}
