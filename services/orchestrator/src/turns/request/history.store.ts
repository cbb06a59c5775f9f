import { LIMITS } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { type MessageParts, messageToText, type StoredFile } from './message-to-text.js';
import { answersUser } from '../../records/answers-user.js';
import { steeringMessages } from '../../records/turn-rows.js';

export interface HistoryRow {
  id: string;
  role: 'user' | 'agent';
  agent_id: string | null;
  text: string;
  /** Absent if there are none. */
  attachments?: readonly StoredFile[];
  /** True if the message shows an artifact. */
  artifact?: true;
  /** True if a summary covers it. */
  covered?: boolean;
}

/** Maximum number of replies to older messages among the newest messages. */
const LATE_REPLIES = 2 * LIMITS.queuedTurns;

/** Of all texts in a request. */
export const HISTORY_BYTES = 512 * 1024;

/** Tool messages count, although the history omits them. */
const SCANNED_MESSAGES = 2_000;

/** A message's size without its attachments, as `wholeBytes` counts it for texts. */
export const messageBytes = sql`octet_length(coalesce(m.content ->> 'text', m.content::text)) + 30`;

export const READABLE = sql`
  (m.content ->> 'type' IN ('action_card', 'artifact')
    OR m.content ->> 'type' = 'text' AND (m.content ->> 'text' <> '' OR m.attachments <> '[]'))
  AND m.role IN ('user', 'agent') AND m.status <> 'failed'`;

const COLUMNS = sql`m.id, m.seq, m.role, m.agent_id, m.content, m.attachments, m.schedule_id, m.trigger_id, m.turn_id`;

/**
 * Reads messages up to the user message, newest first. A turn's messages follow its user message, even if the next user
 * message was stored before them. Excludes the same agent's messages for this user message and for tasks that it gave,
 * but not other agents' messages. A summary covers the messages up to `coveredSeq`. Reads only recent messages,
 * regardless of the conversation's length, and not more bytes than a request has.
 */
export async function readHistory(
  database: Database,
  userMessage: { conversationId: string; messageId: string; agentId: string; coveredSeq: number },
  limit: number,
): Promise<HistoryRow[]> {
  const userMessageSeq = sql`(SELECT seq FROM messages WHERE id = ${userMessage.messageId})`;
  const { rows } = await sql<Omit<HistoryRow, 'text'> & MessageParts>`
    WITH sized AS MATERIALIZED (
      SELECT ${COLUMNS}, sum(${messageBytes}) OVER (
        ORDER BY m.seq DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
      ) AS newer_bytes FROM (
        SELECT * FROM messages m WHERE m.conversation_id = ${userMessage.conversationId} AND m.seq <= ${userMessageSeq}
        ORDER BY m.seq DESC LIMIT ${SCANNED_MESSAGES}
      ) m
      -- Not inside the subquery: the planner would underestimate the range and sort all messages.
      WHERE ${READABLE}
      ORDER BY m.seq DESC LIMIT ${limit + LATE_REPLIES}
    ), nearest AS MATERIALIZED (
      SELECT ${COLUMNS} FROM sized m WHERE coalesce(newer_bytes, 0) <= ${HISTORY_BYTES}
    ), late AS (
      SELECT ${COLUMNS} FROM nearest n JOIN turns t ON t.user_message_id = n.id JOIN messages m ON m.id = t.reply_message_id
      WHERE m.seq > ${userMessageSeq} AND ${READABLE}
      UNION ALL
      SELECT ${COLUMNS} FROM nearest n JOIN turns t ON t.user_message_id = n.id
      JOIN messages m ON m.turn_id = t.id AND m.turn_key IS NOT NULL
      WHERE m.seq > ${userMessageSeq} AND ${READABLE}
    )
    SELECT entry.id, entry.role, entry.agent_id, entry.content, entry.attachments, entry.schedule_id, entry.trigger_id,
      entry.seq <= ${userMessage.coveredSeq} AS covered
    FROM (SELECT * FROM nearest UNION ALL SELECT * FROM late) entry
    LEFT JOIN turns replying ON replying.reply_message_id = entry.id
    LEFT JOIN turns writing ON writing.id = entry.turn_id
    LEFT JOIN messages user_message ON user_message.id = coalesce(replying.user_message_id, writing.user_message_id)
    WHERE user_message.id IS DISTINCT FROM ${userMessage.messageId}::uuid
      OR coalesce(replying.agent_id, writing.agent_id) <> ${userMessage.agentId}::uuid
        AND ${answersUser('coalesce(replying.id, writing.id)')}
    ORDER BY coalesce(
      -- A reply also answers the messages that steered its turn.
      (SELECT max(later.seq) FROM turns merged JOIN messages later ON later.id = merged.user_message_id
        WHERE merged.merged_into_turn_id = coalesce(replying.id, writing.id) AND later.seq > user_message.seq),
      user_message.seq, entry.seq
    ) DESC, (user_message.id IS NOT NULL) DESC, entry.seq DESC
    LIMIT ${limit}`.execute(database);
  return rows.map(toRow);
}

function toRow({ id, role, agent_id, covered, ...parts }: Omit<HistoryRow, 'text'> & MessageParts): HistoryRow {
  return {
    id,
    role,
    agent_id,
    text: messageToText(parts),
    ...(parts.content.type === 'artifact' ? { artifact: true as const } : {}),
    ...(parts.attachments.length > 0 ? { attachments: parts.attachments } : {}),
    ...(covered === true ? { covered } : {}),
  };
}

/** Messages that steer a running turn, oldest first, whether it has read them or not. */
export async function readSteering(
  database: Database,
  turnId: string,
  answeredMessageId: string,
): Promise<HistoryRow[]> {
  const { rows } = await sql<Omit<HistoryRow, 'text'> & MessageParts>`
    SELECT m.id, m.role, m.agent_id, m.content, m.attachments, m.schedule_id, m.trigger_id ${steeringMessages(turnId, answeredMessageId)}
    ORDER BY m.seq`.execute(database);
  return rows.map(toRow);
}
