import type { ConversationType } from '@uswarm/contract';
import { type Insertable, type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { ConversationsTable } from '../platform/database/tables.js';
import type { TitleSource } from '../platform/database/schema.js';

/** All statements that write `conversations`. */

export interface NewConversation {
  id: string;
  workspaceId: string;
  type: ConversationType;
  agentId: string | null;
  title?: string | undefined;
  /** The seq of its event, if it has one. */
  rev?: number;
}

export interface NewTitle {
  text: string | null;
  source: TitleSource | null;
}

/** @returns false if it exists */
export async function insertConversation(
  db: Database,
  { id, workspaceId, type, agentId, title, rev = 0 }: NewConversation,
): Promise<boolean> {
  const named = title === undefined ? {} : ({ title, title_source: 'user' } as const);
  const result = await db
    .insertInto('conversations')
    .values({ id, workspace_id: workspaceId, type, agent_id: agentId, rev, ...named })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

/** Of an imported workspace. */
export async function restoreConversations(
  db: Database,
  rows: readonly Insertable<ConversationsTable>[],
): Promise<void> {
  if (rows.length > 0) await db.insertInto('conversations').values(rows).execute();
}

/** @returns false if it does not exist */
export async function deleteConversation(db: Database, id: string): Promise<boolean> {
  const result = await db.deleteFrom('conversations').where('id', '=', id).executeTakeFirst();
  return result.numDeletedRows === 1n;
}

/** @returns false if the workspace has no such conversation */
export async function setTitle(
  db: Database,
  workspaceId: string,
  id: string,
  { text, source }: NewTitle,
): Promise<boolean> {
  const result = await db
    .updateTable('conversations')
    .set({ title: text, title_source: source })
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/**
 * Replaces a title that was derived from the first message, or that a model derived from messages up to a changed one
 * or a later one; null if no message has text. Keeps other titles.
 */
export async function setTitleFromMessage(
  db: Database,
  id: string,
  { title, messageSeq }: { title: string | null; messageSeq: number },
): Promise<void> {
  await db
    .updateTable('conversations')
    .set({ title, title_source: title === null ? null : 'first_message' })
    .where('id', '=', id)
    .where(({ or, and, eb }) =>
      or([
        eb('title_source', '=', 'first_message'),
        and([eb('title_source', '=', 'model'), eb('title_seq', '>=', messageSeq)]),
      ]),
    )
    .execute();
}

/** @returns false if the user has named the conversation */
export async function setModelTitle(
  db: Database,
  id: string,
  { text, seq }: { text: string; seq: number },
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    UPDATE conversations SET title = ${text}, title_source = 'model', title_seq = ${seq}
    WHERE id = ${id} AND coalesce(title_source, 'first_message') = 'first_message'`.execute(db);
  return numAffectedRows === 1n;
}

export async function setMuted(db: Database, id: string, muted: boolean): Promise<void> {
  await db.updateTable('conversations').set({ muted }).where('id', '=', id).execute();
}

/** Never moves the position back. @returns false if the conversation does not exist */
export async function moveReadPosition(db: Database, id: string, seq: number): Promise<boolean> {
  const result = await db
    .updateTable('conversations')
    .set({ read_seq: sql<number>`greatest(read_seq, ${seq})` })
    .where('id', '=', id)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/**
 * Moves a conversation to the front, with the seq from the CTE `counter`.
 *
 * @param isMoved whether it changes its place
 */
export const touchConversation = (id: string, isMoved: RawBuilder<unknown> = sql`true`): RawBuilder<unknown> => sql`
  UPDATE conversations c SET rev = greatest(c.rev, counter.last_seq),
    updated_at = CASE WHEN ${isMoved} THEN now() ELSE c.updated_at END
  FROM counter WHERE c.id = ${id}`;

/** As `touchConversation`, for each row in `rows`: `conversation_id`, `seq`, and the `title` for a conversation without one. */
export const touchConversations = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  UPDATE conversations c SET updated_at = now(), rev = greatest(c.rev, s.seq), title = coalesce(c.title, s.title),
    title_source = CASE WHEN c.title IS NULL AND s.title IS NOT NULL THEN 'first_message' ELSE c.title_source END
  FROM ${rows} s WHERE c.id = s.conversation_id`;

/** Sets `rev` to the seq in the CTE `counter`. */
export const reviseConversation = (id: string | null): RawBuilder<unknown> => sql`
  UPDATE conversations c SET rev = counter.last_seq FROM counter WHERE c.id = ${id}`;

/** As `reviseConversation`, for the message in the CTE `revised_message`. */
export const reviseConversationOfMessage = sql`
  UPDATE conversations c SET rev = counter.last_seq FROM counter, revised_message m WHERE c.id = m.conversation_id`;
