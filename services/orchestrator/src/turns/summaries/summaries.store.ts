import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { TitleSource } from '../../platform/database/schema.js';
import { type HistoryRow, messageBytes, READABLE } from '../request/history.store.js';
import { type MessageParts, messageToText } from '../request/message-to-text.js';

export interface Summary {
  text: string;
  /** The summary covers the messages up to this seq. */
  throughSeq: number;
}

export type SummarizedMessage = HistoryRow & { seq: number };

export interface SummarizedConversation {
  workspaceId: string;
  conversationId: string;
  userId: string;
  /** BCP 47; empty if unknown. */
  language: string;
  titleSource: TitleSource | null;
  /** Usage is recorded for this last answered turn. */
  turnId: string;
  /** Model calls are recorded for the first turn that it continues. */
  usageTurnId: string;
  agentId: string;
  /** The agent's setting; null: the default for its kind. */
  model: string | null;
  kind: 'manager' | 'sub-agent';
}

/** Limits for the newest messages, which are sent whole: older messages need a summary. */
export interface WholeMessages {
  count: number;
  bytes: number;
}

const SCANNED_MESSAGES = 2_000;

export async function findSummary(db: Database, conversationId: string): Promise<Summary | undefined> {
  const { rows } = await sql<Summary>`
    SELECT text, through_seq AS "throughSeq" FROM conversation_summaries
    WHERE conversation_id = ${conversationId}`.execute(db);
  return rows[0];
}

/** @returns undefined if the conversation does not exist, or has no finished turn with an answer */
export async function findSummarizedConversation(
  db: Database,
  conversationId: string,
): Promise<SummarizedConversation | undefined> {
  const { rows } = await sql<SummarizedConversation>`
    SELECT c.workspace_id AS "workspaceId", c.id AS "conversationId", w.owner_id AS "userId", u.platform_language AS language,
      c.title_source AS "titleSource", t.id AS "turnId", coalesce(t.first_turn_id, t.id) AS "usageTurnId", t.agent_id AS "agentId", a.model, a.kind
    FROM conversations c
    JOIN workspaces w ON w.id = c.workspace_id
    JOIN users u ON u.id = w.owner_id
    JOIN LATERAL (
      -- A turn that waits has a context. It numbers its next steps itself when it continues.
      SELECT id, first_turn_id, agent_id FROM turns WHERE conversation_id = c.id AND status = 'done'
        AND NOT EXISTS (SELECT FROM turn_contexts WHERE turn_id = turns.id)
      ORDER BY finished_at DESC LIMIT 1
    ) t ON true
    JOIN agents a ON a.id = t.agent_id
    WHERE c.id = ${conversationId} AND NOT u.is_banned`.execute(db);
  return rows[0];
}

/** Prevents the account's deletion until the transaction ends. @returns false if it does not exist */
export async function lockUserOfSummary(db: Database, userId: string): Promise<boolean> {
  const { rows } = await sql`SELECT FROM users WHERE id = ${userId} FOR KEY SHARE`.execute(db);
  return rows.length > 0;
}

/** Seq of the newest message outside these limits; 0 if there is none. */
export async function findLastExceeding(
  db: Database,
  conversationId: string,
  { count, bytes }: WholeMessages,
): Promise<number> {
  const { rows } = await sql<{ seq: number }>`
    SELECT seq FROM (
      SELECT m.seq, row_number() OVER newest AS number, sum(${messageBytes}) OVER newest AS bytes
      FROM (
        SELECT * FROM messages WHERE conversation_id = ${conversationId} ORDER BY seq DESC LIMIT ${SCANNED_MESSAGES}
      ) m
      WHERE ${READABLE}
      WINDOW newest AS (ORDER BY m.seq DESC)
    ) numbered
    WHERE number > ${count} OR (bytes > ${bytes} AND number > 1)
    ORDER BY seq DESC LIMIT 1`.execute(db);
  return rows[0]?.seq ?? 0;
}

/** Messages that a model can read, oldest first: after `afterSeq`, up to `throughSeq`. */
export async function listSummarizedMessages(
  db: Database,
  conversationId: string,
  { afterSeq, throughSeq, limit }: { afterSeq: number; throughSeq: number; limit: number },
): Promise<SummarizedMessage[]> {
  const { rows } = await sql<Omit<SummarizedMessage, 'text'> & MessageParts>`
    SELECT m.id, m.seq, m.role, m.agent_id, m.content, m.attachments FROM messages m
    WHERE m.conversation_id = ${conversationId} AND m.seq > ${afterSeq} AND m.seq <= ${throughSeq} AND ${READABLE}
    ORDER BY m.seq LIMIT ${limit}`.execute(db);
  return rows.map(({ id, seq, role, agent_id, ...parts }) => ({
    id,
    seq,
    role,
    agent_id,
    text: messageToText(parts),
  }));
}

export async function saveSummary(db: Database, conversationId: string, { text, throughSeq }: Summary): Promise<void> {
  await sql`
    INSERT INTO conversation_summaries (conversation_id, through_seq, text)
    SELECT id, ${throughSeq}, ${text} FROM conversations WHERE id = ${conversationId}
    ON CONFLICT (conversation_id) DO UPDATE
      SET through_seq = excluded.through_seq, text = excluded.text, updated_at = now()`.execute(db);
}

/** True if no other turn has answered in the conversation, and neither a user nor a model has named it. */
export async function needsTitle(
  db: Database,
  { id, conversationId }: { id: string; conversationId: string },
): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM conversations c
    WHERE c.id = ${conversationId} AND coalesce(c.title_source, 'first_message') = 'first_message' AND NOT EXISTS (
      SELECT FROM turns t WHERE t.conversation_id = c.id AND t.status = 'done' AND t.id <> ${id}
    )`.execute(db);
  return rows.length > 0;
}

/** Deletes the summary if it covers a message. @returns true if it did */
export async function forgetSummary(db: Database, conversationId: string, messageSeq: number): Promise<boolean> {
  const { numAffectedRows } = await sql`
    DELETE FROM conversation_summaries
    WHERE conversation_id = ${conversationId} AND through_seq >= ${messageSeq}`.execute(db);
  return numAffectedRows === 1n;
}
