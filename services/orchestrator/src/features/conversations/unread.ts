import { sql } from 'kysely';
import { listed } from '../messages/place.js';

/**
 * Messages `m` of conversation `c` that are unread: complete agent messages to the user after the
 * read position. A reply has its place long before it has its text. The conditions are those of the index
 * messages_unread.
 */
export const IS_UNREAD = sql`
  m.conversation_id = c.id AND coalesce(m.shown_seq, m.seq) > c.read_seq
    AND m.role = 'agent' AND m.content ->> 'type' IN ('text', 'action_card', 'artifact', 'workflow')
    AND coalesce(m.content ->> 'text', '-') <> ''`;

/** How many are unread of conversation `c`. */
export const UNREAD = sql`(SELECT count(*) FROM messages m WHERE ${IS_UNREAD})`;

/** The last message of conversation `c` that was shown by the read position; null if there is none. */
export const LAST_READ = sql`(
  SELECT m.id FROM messages m
  WHERE m.conversation_id = c.id AND coalesce(m.shown_seq, m.seq) <= c.read_seq
    AND m.content ->> 'type' NOT IN ('loading', 'tool_status')
  ORDER BY ${listed('older')} LIMIT 1
)`;
