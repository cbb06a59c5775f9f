import { sql } from 'kysely';
import { listOrder } from './position.js';

/**
 * Unread messages `m` in conversation `c`: complete agent messages to the user after the read position. An agent
 * message has a position before it has text. The conditions match the index messages_unread.
 */
export const IS_UNREAD = sql`
  m.conversation_id = c.id AND coalesce(m.shown_seq, m.seq) > c.read_seq
    AND m.role = 'agent' AND m.content ->> 'type' IN ('text', 'action_card', 'artifact', 'workflow')
    AND coalesce(m.content ->> 'text', '-') <> ''`;

export const UNREAD = sql`(SELECT count(*) FROM messages m WHERE ${IS_UNREAD})`;

export const WORKSPACE_UNREAD = sql`(
  SELECT coalesce(sum(${UNREAD}), 0)::bigint FROM conversations c WHERE c.workspace_id = w.id
)`;

/** Null if conversation `c` has no message at or before the read position. */
export const LAST_READ = sql`(
  SELECT m.id FROM messages m
  WHERE m.conversation_id = c.id AND coalesce(m.shown_seq, m.seq) <= c.read_seq
    AND m.content ->> 'type' NOT IN ('loading', 'tool_status')
  ORDER BY ${listOrder('older')} LIMIT 1
)`;
