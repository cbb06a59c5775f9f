import type { Mention } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { TurnStatus } from '../platform/database/schema.js';
import type { StoredAttachment } from '../workspaces/uploads/attachments.js';
import { editMessage, removedMessages } from './message-rows.js';
import { deleteEntries } from './turn-part-rows.js';
import { deleteAttachments } from './message-attachment-rows.js';

/** The turn answers the message, or wrote it as or beside its reply. */
export interface ConcernedTurn {
  id: string;
  agentId: string;
  userMessageId: string;
  /** The last message that the turn answers: later ones can have steered it. */
  lastMessageId: string;
  /** The first message in the chain that the turn, or one that it replaces, continues; null for other turns. */
  repeatsFromMessageId: string | null;
  replyMessageId: string | null;
  status: TurnStatus;
  generation: number;
  createdAt: Date;
}

export interface MessageEdit {
  text: string;
  mentions: readonly Mention[];
  attachments?: readonly StoredAttachment[];
}

/** The message `card` is a card without a choice. */
export const OPEN_CARD = sql`
  card.status <> 'failed' AND card.content ->> 'type' = 'action_card' AND card.content ->> 'selected_action_id' IS NULL`;

export async function findConcernedTurns(db: Database, messageId: string): Promise<ConcernedTurn[]> {
  const { rows } = await sql<ConcernedTurn>`
    SELECT id, agent_id AS "agentId", user_message_id AS "userMessageId", reply_message_id AS "replyMessageId",
      coalesce(repeats_from_message_id, resumes_message_id) AS "repeatsFromMessageId",
      (
        -- Not with OR, which would scan all messages.
        SELECT m.id FROM (
          SELECT t.user_message_id AS id
          UNION SELECT merged.user_message_id FROM turns merged WHERE merged.merged_into_turn_id = t.id
        ) answered JOIN messages m ON m.id = answered.id ORDER BY m.seq DESC LIMIT 1
      ) AS "lastMessageId",
      status, generation, created_at AS "createdAt"
    FROM turns t
    WHERE user_message_id = ${messageId} OR reply_message_id = ${messageId}
      OR id = (SELECT turn_id FROM messages WHERE id = ${messageId})
    ORDER BY id`.execute(db);
  return rows;
}

/** The newest message that a turn answers in addition to its own. */
export async function findNewestMerged(
  db: Database,
  turnId: string,
): Promise<{ userMessageId: string; ordinal: number } | undefined> {
  const { rows } = await sql<{ userMessageId: string; ordinal: number }>`
    SELECT m.id AS "userMessageId", m.seq AS ordinal FROM turns t JOIN messages m ON m.id = t.user_message_id
    WHERE t.merged_into_turn_id = ${turnId} ORDER BY m.seq DESC LIMIT 1`.execute(db);
  return rows[0];
}

export async function findMessageSeq(db: Database, messageId: string): Promise<number | undefined> {
  const row = await db.selectFrom('messages').select('seq').where('id', '=', messageId).executeTakeFirst();
  return row?.seq;
}

/** Finds replies, tool lines, cards and notes. */
export async function findMessagesWrittenBy(db: Database, turnIds: readonly string[]): Promise<string[]> {
  if (turnIds.length === 0) return [];
  const ids = sql`ANY(${[...turnIds]}::uuid[])`;
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM (
      SELECT reply_message_id AS id FROM turns WHERE id = ${ids} AND reply_message_id IS NOT NULL
      UNION
      SELECT id FROM messages WHERE turn_id = ${ids} AND turn_key IS NOT NULL
    ) written ORDER BY id`.execute(db);
  return rows.map(({ id }) => id);
}

/**
 * Deletes messages, and their turns' journals unless the turns still run or wait; the local ids stay used.
 *
 * @returns the ids that existed
 */
export async function removeMessagesById(db: Database, messageIds: readonly string[]): Promise<string[]> {
  const ids = sql`ANY(${[...messageIds]}::uuid[])`;
  // Later turns are told about calls by the turns that these messages asked for or show. A waiting turn keeps its
  // journal: without it, it would start from the beginning and repeat its calls.
  await deleteEntries(sql`
    t.status NOT IN ('queued', 'running') AND NOT EXISTS (SELECT FROM turn_contexts c WHERE c.turn_id = t.id) AND t.id IN (
      SELECT id FROM turns WHERE user_message_id = ${ids}
      UNION SELECT id FROM turns WHERE reply_message_id = ${ids}
      UNION SELECT id FROM turns WHERE resumes_message_id = ${ids}
      UNION SELECT turn_id FROM messages WHERE id = ${ids} AND turn_id IS NOT NULL
    )`).execute(db);
  const { rows } = await sql<{ id: string }>`
    WITH ${removedMessages(sql`id = ${ids}`)} SELECT id FROM removed`.execute(db);
  return rows.map(({ id }) => id);
}

/** True if no newer user message was answered. Decisions on calls that a running turn read do not count. */
export async function isNewestOfUser(db: Database, messageId: string): Promise<boolean> {
  const newer = await sql`
    SELECT FROM messages m JOIN messages newer
      ON newer.conversation_id = m.conversation_id AND newer.seq > m.seq AND newer.role = 'user'
    WHERE m.id = ${messageId} AND EXISTS (SELECT FROM turns t WHERE t.user_message_id = newer.id) LIMIT 1`.execute(db);
  return newer.rows.length === 0;
}

/** Changes a user message. New attachments replace the previous ones, which are detached. */
export async function editUserMessage(db: Database, messageId: string, edit: MessageEdit): Promise<void> {
  if (edit.attachments !== undefined) await deleteAttachments(db, messageId);
  await editMessage(db, messageId, edit);
}
