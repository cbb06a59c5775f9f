import { LIMITS } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import { type Said, messageToText } from './message-to-text.js';

export interface HistoryRow {
  id: string;
  role: 'user' | 'agent';
  agent_id: string | null;
  text: string;
}

/** Maximum number of replies to older messages among the newest ones. */
const LATE_REPLIES = 2 * LIMITS.queuedTurns;

/** What is further away than this is not looked at, however many tools were used meanwhile. */
const NEAR = 2_000;

/** What says something to a model. */
const SPEAKS = sql`
  (m.content ->> 'type' = 'action_card'
    OR m.content ->> 'type' = 'text' AND (m.content ->> 'text' <> '' OR m.attachments <> '[]'))
  AND m.role IN ('user', 'agent') AND m.status <> 'failed'`;

const COLUMNS = sql`m.id, m.seq, m.role, m.agent_id, m.content, m.attachments, m.turn_id`;

/**
 * Messages up to the user message, newest first. Messages of a turn follow its user message, also if the next user
 * message was stored before them. Messages of the same agent for this user message are excluded, those of other agents
 * are not. Reads only recent messages, regardless of the length of the conversation.
 */
export async function readHistory(
  database: Database,
  question: { conversationId: string; messageId: string; agentId: string },
  limit: number,
): Promise<HistoryRow[]> {
  const asked = sql`(SELECT seq FROM messages WHERE id = ${question.messageId})`;
  const { rows } = await sql<Omit<HistoryRow, 'text'> & Said>`
    WITH nearest AS MATERIALIZED (
      SELECT ${COLUMNS} FROM (
        SELECT * FROM messages m WHERE m.conversation_id = ${question.conversationId} AND m.seq <= ${asked}
        ORDER BY m.seq DESC LIMIT ${NEAR}
      ) m
      WHERE ${SPEAKS}
      ORDER BY m.seq DESC LIMIT ${limit + LATE_REPLIES}
    ), late AS (
      SELECT ${COLUMNS} FROM nearest n JOIN turns t ON t.user_message_id = n.id JOIN messages m ON m.id = t.reply_message_id
      WHERE m.seq > ${asked} AND ${SPEAKS}
      UNION ALL
      SELECT ${COLUMNS} FROM nearest n JOIN turns t ON t.user_message_id = n.id
      JOIN messages m ON m.turn_id = t.id AND m.turn_key IS NOT NULL
      WHERE m.seq > ${asked} AND ${SPEAKS}
    )
    SELECT entry.id, entry.role, entry.agent_id, entry.content, entry.attachments
    FROM (SELECT * FROM nearest UNION ALL SELECT * FROM late) entry
    LEFT JOIN turns replying ON replying.reply_message_id = entry.id
    LEFT JOIN turns writing ON writing.id = entry.turn_id
    LEFT JOIN messages question ON question.id = coalesce(replying.user_message_id, writing.user_message_id)
    WHERE question.id IS DISTINCT FROM ${question.messageId}::uuid
      OR coalesce(replying.agent_id, writing.agent_id) <> ${question.agentId}::uuid
    ORDER BY coalesce(question.seq, entry.seq) DESC, entry.seq DESC
    LIMIT ${limit}`.execute(database);
  return rows.map(({ id, role, agent_id, ...said }) => ({ id, role, agent_id, text: messageToText(said) }));
}
