import type { Mention, MessageContent, MessageStatus } from '@uswarm/contract';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { MessagesTable } from '../platform/database/tables.js';
import { answerOf } from './answers.js';

/** All statements that write `messages` and `spent_local_ids`. */

export interface MessageChange {
  content?: MessageContent;
  status?: MessageStatus;
  /** Null clears it. */
  errorCode?: string | null;
  /** The event that shows a reply in full has this seq; unread counts begin there. */
  shownSeq?: number;
  /** The message whose answer answers this one, too; null clears it. */
  answeredWith?: string | null;
}

export interface AddedMessage {
  id: string;
  workspaceId: string;
  conversationId: string;
  role: 'agent' | 'system';
  agentId?: string;
  content: MessageContent;
  /** Link them to the message afterwards, in the same transaction. */
  attachments?: readonly object[];
  status: MessageStatus;
  /** Turn and key for a message that a turn writes in addition to its reply. */
  turn?: { id: string; key: string };
  /** The message belongs to this turn's answer. Default: `turn` */
  turnId?: string;
  /** Lists a tool line before the reply with this seq. */
  beforeSeq?: number;
}

/** With the seq from the CTE `counter`. @param condition whether to insert it */
export const insertMessage = (
  { id, workspaceId, conversationId, turn, turnId = turn?.id, ...message }: AddedMessage,
  condition: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> => sql`
  INSERT INTO messages (id, workspace_id, conversation_id, seq, rev, before_seq, role, agent_id, content, attachments, status, turn_id, turn_key,
    answer_turn_id, in_reply_to)
  SELECT ${id}::uuid, ${workspaceId}::uuid, ${conversationId}::uuid, last_seq, last_seq, ${message.beforeSeq ?? null}::bigint,
    ${message.role}, ${message.agentId ?? null}::uuid, ${JSON.stringify(message.content)}::jsonb, ${JSON.stringify(message.attachments ?? [])}::jsonb, ${message.status},
    ${turn?.id ?? null}::uuid, ${turn?.key ?? null}, answer.id, answer.in_reply_to
  FROM counter, ${answerOf(turnId)} answer WHERE ${condition}`;

/** Of users. `rows` is a query with the columns in this order. */
export const insertUserMessages = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO messages (id, workspace_id, conversation_id, seq, rev, role, sender_id, content, status, local_id, body_hash,
    mentions, attachments)
  ${rows}`;

/** @returns the ids that exist */
export async function existingMessages(db: Database, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('messages')
    .select('id')
    .where('id', 'in', [...ids])
    .execute();
  return new Set(rows.map(({ id }) => id));
}

/** Of an imported workspace. */
export async function restoreMessages(db: Database, rows: readonly Insertable<MessagesTable>[]): Promise<void> {
  if (rows.length > 0) await db.insertInto('messages').values(rows).execute();
}

export const changedColumns = ({
  content,
  status,
  errorCode,
  shownSeq,
  answeredWith,
}: MessageChange): RawBuilder<unknown>[] => [
  ...(content === undefined ? [] : [sql`content = ${JSON.stringify(content)}::jsonb`]),
  ...(status === undefined ? [] : [sql`status = ${status}`]),
  ...(errorCode === undefined ? [] : [sql`error_code = ${errorCode}`]),
  ...(shownSeq === undefined ? [] : [sql`shown_seq = ${shownSeq}`]),
  ...(answeredWith === undefined ? [] : [sql`answered_with = ${answeredWith}::uuid`]),
  sql`updated_at = clock_timestamp()`,
];

export async function updateMessage(db: Database, id: string, change: MessageChange): Promise<void> {
  await sql`UPDATE messages SET ${sql.join(changedColumns(change))} WHERE id = ${id}`.execute(db);
}

/** Marks a message that a schedule or a trigger has sent. */
export async function setOrigin(
  db: Database,
  id: string,
  origin: { schedule_id: string } | { trigger_id: string },
): Promise<void> {
  await db.updateTable('messages').set(origin).where('id', '=', id).execute();
}

/** Also sets `rev` to the seq in the CTE `counter`. @param condition on the message `m` */
export const reviseMessage = (
  id: string,
  columns: readonly RawBuilder<unknown>[] = [],
  condition: RawBuilder<unknown> = sql`true`,
): RawBuilder<unknown> => sql`
  UPDATE messages m SET ${sql.join([sql`rev = counter.last_seq`, ...columns])}
  FROM counter WHERE m.id = ${id} AND ${condition} RETURNING m.conversation_id`;

/** Makes the loading reply in the CTE `reply` another message by the same turn, with the seq from the CTE `counter`. */
export const replaceLoadingReply = (
  turn: { id: string; key: string },
  content: MessageContent,
): RawBuilder<unknown> => sql`
  UPDATE messages m SET rev = counter.last_seq, shown_seq = counter.last_seq, turn_id = ${turn.id}::uuid, turn_key = ${turn.key},
    ${sql.join(changedColumns({ content, status: 'delivered' }))}
  FROM counter, reply WHERE m.id = reply.id`;

/** Changes a user message, which waits for an answer again. Without `attachments`, they stay. */
export async function editMessage(
  db: Database,
  id: string,
  edit: { text: string; mentions: readonly Mention[]; attachments?: readonly object[] | undefined },
): Promise<void> {
  await db
    .updateTable('messages')
    .set({
      content: JSON.stringify({ type: 'text', text: edit.text }),
      mentions: JSON.stringify(edit.mentions),
      ...(edit.attachments === undefined ? {} : { attachments: JSON.stringify(edit.attachments) }),
      status: 'sent',
      error_code: null,
      answered_with: null,
      edited_at: sql<Date>`clock_timestamp()`,
      updated_at: sql<Date>`clock_timestamp()`,
    })
    .where('id', '=', id)
    .execute();
}

/**
 * Adds a transcript to the messages with this file that do not show it. @returns them, by workspace, so that concurrent
 * transactions lock the workspaces in one order
 */
export async function showTranscript(
  db: Database,
  uploadId: string,
  transcript: string,
): Promise<{ id: string; workspaceId: string }[]> {
  const { rows } = await sql<{ id: string; workspaceId: string }>`
    WITH shown AS (
      UPDATE messages m SET updated_at = clock_timestamp(), attachments = (
        SELECT jsonb_agg(
          CASE WHEN file ->> 'id' = ${uploadId} THEN file || jsonb_build_object('transcript', ${transcript}::text) ELSE file END
          ORDER BY place
        ) FROM jsonb_array_elements(m.attachments) WITH ORDINALITY AS files (file, place)
      )
      WHERE m.id IN (SELECT message_id FROM message_attachments WHERE upload_id = ${uploadId})
        AND NOT m.attachments @> jsonb_build_array(jsonb_build_object('id', ${uploadId}::text, 'transcript', ${transcript}::text))
      RETURNING m.id, m.workspace_id
    )
    SELECT id, workspace_id AS "workspaceId" FROM shown ORDER BY workspace_id, id`.execute(db);
  return rows;
}

/** CTEs that delete messages, as `removed`, and keep their local ids. */
export const removedMessages = (condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  removed AS (
    DELETE FROM messages WHERE ${condition} RETURNING id, workspace_id, sender_id, local_id
  ), spent AS (
    INSERT INTO spent_local_ids (workspace_id, sender_id, local_id_hash)
    SELECT workspace_id, sender_id, sha256(convert_to(local_id, 'UTF8')) FROM removed WHERE local_id IS NOT NULL
    ON CONFLICT DO NOTHING
  )`;

/** Deletes up to `limit` messages, the oldest first, before their workspace is deleted. @returns the number */
export async function removeOldestMessages(db: Database, workspaceId: string, limit: number): Promise<number> {
  const oldest = db.selectFrom('messages').select('id').where('workspace_id', '=', workspaceId).orderBy('seq');
  const deletion = db.deleteFrom('messages').where('id', 'in', oldest.limit(limit));
  return Number((await deletion.executeTakeFirst()).numDeletedRows);
}

/**
 * Derives search texts again, for up to `limit` messages in id order.
 *
 * @returns the last id; undefined if there is none after `after`
 */
export async function foldSearchTexts(db: Database, after: string, limit: number): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    WITH batch AS MATERIALIZED (
      SELECT id FROM messages WHERE id > ${after} ORDER BY id LIMIT ${limit}
    ), written AS (
      UPDATE messages m SET content = m.content FROM batch
      WHERE m.id = batch.id AND m.search_text IS DISTINCT FROM search_text_of(m.content)
    )
    SELECT id FROM batch ORDER BY id DESC LIMIT 1`.execute(db);
  return rows[0]?.id;
}

/** @param ids a query for the cards' ids */
export const moveCards = (ids: RawBuilder<unknown>, toTurnId: string): RawBuilder<unknown> => sql`
  UPDATE messages SET turn_id = ${toTurnId} WHERE id IN (${ids})`;
