import { type AgentRole, type ConversationType, LIMITS } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { AgentActivity } from '../platform/database/schema.js';
import { currentActivity } from '../records/agent-status.store.js';
import { messageColumns } from '../records/messages.store.js';
import type { MessageRow } from './message-view.js';
import { listOrder } from '../records/position.js';
import { LAST_READ, UNREAD } from '../records/unread.js';

/** A conversation with its agent and its last message, if any. */
export interface ConversationRow {
  own_id: string;
  conversation_rev: number;
  type: ConversationType;
  title: string;
  conversation_created_at: Date;
  conversation_updated_at: Date;
  unread_count: number;
  last_read_id: string | null;
  muted: boolean;
  partner_id: string | null;
  partner_name: string;
  partner_role: string;
  partner_kind: AgentRole;
  partner_slug: string;
  partner_avatar: string;
  partner_activity: AgentActivity;
  partner_phase: MessageRow['runtime_phase'];
  partner_silent_since: Date | null;
  partner_deleted: boolean;
  /** With the beginning of its text. */
  last_message: (MessageRow & { truncated: boolean }) | null;
}

export interface ConversationPosition {
  id: string;
  /** With microseconds: `2026-11-22T10:00:00.123456Z`. */
  activeAt: string;
}

type FlatRow = Omit<ConversationRow, 'last_message'> &
  Omit<MessageRow, 'id'> & { id: string | null; truncated: boolean };

const { lastMessageText: MAX_TEXT } = LIMITS;
/** The beginning of the text of a message `m`. The database cuts it, because a list of conversations has hundreds of messages. */
const BEGINNING = sql`
  SELECT type, left(text, ${sql.lit(MAX_TEXT)} + 1) AS text FROM jsonb_to_record(m.content) AS content (type text, text text) OFFSET 0`;
const IS_TRUNCATED = sql`coalesce(length(beginning.text) > ${sql.lit(MAX_TEXT)}, false)`;
/** Contents with a text have no other field. */
const SHORT_CONTENT = sql`CASE WHEN ${IS_TRUNCATED}
  THEN jsonb_build_object('type', beginning.type, 'text', left(beginning.text, ${sql.lit(MAX_TEXT)})) ELSE m.content END`;

/** One statement per list. The last message and the unread count are index lookups per conversation. */
async function select(db: Database, where: RawBuilder<unknown>): Promise<ConversationRow[]> {
  const { rows } = await sql<FlatRow>`
    SELECT c.id AS own_id, c.rev AS conversation_rev, c.type, coalesce(c.title, p.name, w.name) AS title,
      c.created_at AS conversation_created_at, c.updated_at AS conversation_updated_at,
      ${UNREAD} AS unread_count, ${LAST_READ} AS last_read_id, c.muted,
      p.id AS partner_id, p.name AS partner_name, p.role AS partner_role, p.kind AS partner_kind,
      p.slug AS partner_slug, p.avatar_url AS partner_avatar, p.deleted_at IS NOT NULL AS partner_deleted, ${currentActivity('p')} AS partner_activity,
      r.phase AS partner_phase, r.silent_since AS partner_silent_since,
      ${messageColumns(SHORT_CONTENT)}, ${IS_TRUNCATED} AS truncated
    FROM conversations c
    JOIN workspaces w ON w.id = c.workspace_id
    LEFT JOIN runtimes r ON r.workspace_id = c.workspace_id
    LEFT JOIN agents p ON p.id = c.agent_id
    LEFT JOIN LATERAL (
      SELECT * FROM messages m WHERE m.conversation_id = c.id AND m.content ->> 'type' <> 'tool_status'
      ORDER BY ${listOrder('older')} LIMIT 1
    ) m ON true
    LEFT JOIN LATERAL (${BEGINNING}) beginning ON true
    LEFT JOIN agents a ON a.id = m.agent_id
    WHERE ${where}
    ORDER BY c.updated_at DESC, c.id DESC`.execute(db);
  return rows.map((row) => ({ ...row, last_message: row.id === null ? null : { ...row, id: row.id } }));
}

/** Answers two questions with one statement: does the user own the workspace, and does it have the conversation? */
export async function findConversationAccess(
  db: Database,
  userId: string,
  workspaceId: string,
  conversationId: string,
): Promise<{ workspace: boolean; conversation: boolean }> {
  const { rows } = await sql<{ conversation: boolean }>`
    SELECT c.id IS NOT NULL AS conversation
    FROM workspaces w LEFT JOIN conversations c ON c.id = ${conversationId} AND c.workspace_id = w.id
    WHERE w.id = ${workspaceId} AND w.owner_id = ${userId}`.execute(db);
  return { workspace: rows.length === 1, conversation: rows[0]?.conversation ?? false };
}

/** Returns the agent that receives messages of a conversation. */
export async function findConversationTarget(
  db: Database,
  workspaceId: string,
  conversationId: string,
): Promise<{ agentId: string | null } | undefined> {
  const row = await db
    .selectFrom('conversations')
    .select('agent_id')
    .where('id', '=', conversationId)
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return row === undefined ? undefined : { agentId: row.agent_id };
}

/** Call it after an event was appended, which locks the workspace: concurrent creations are then counted. */
export async function countConversations(db: Database, workspaceId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) FROM conversations WHERE workspace_id = ${workspaceId}`.execute(db);
  return rows[0]?.count ?? 0;
}

/**
 * Conversations after a position. `older` starts with the most recently active one, `newer` reverses the order.
 *
 * @param limit null for all
 */
export async function listConversationPositions(
  db: Database,
  workspaceId: string,
  pageDirection: 'older' | 'newer',
  position: ConversationPosition | undefined,
  limit: number | null,
): Promise<ConversationPosition[]> {
  const after = sql`(${position?.activeAt ?? null}::timestamptz, ${position?.id ?? null}::uuid)`;
  const key = sql`(c.updated_at, c.id)`;
  const keyset = pageDirection === 'older' ? sql`${key} < ${after}` : sql`${key} > ${after}`;
  const order = pageDirection === 'older' ? sql`c.updated_at DESC, c.id DESC` : sql`c.updated_at, c.id`;
  const { rows } = await sql<ConversationPosition>`
    SELECT c.id, to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "activeAt"
    FROM conversations c
    WHERE c.workspace_id = ${workspaceId} AND ${position === undefined ? sql`true` : keyset}
    ORDER BY ${order} LIMIT ${limit}`.execute(db);
  return rows;
}

/** The text of the first user message that has text. */
export async function findFirstText(db: Database, conversationId: string): Promise<string | undefined> {
  const { rows } = await sql<{ text: string }>`
    SELECT m.content ->> 'text' AS text FROM messages m
    WHERE m.conversation_id = ${conversationId} AND m.role = 'user' AND m.content ->> 'text' <> ''
    ORDER BY ${listOrder('newer')} LIMIT 1`.execute(db);
  return rows[0]?.text;
}

export async function findConversation(
  db: Database,
  workspaceId: string,
  conversationId: string,
): Promise<ConversationRow | undefined> {
  return (await select(db, sql`c.id = ${conversationId} AND c.workspace_id = ${workspaceId}`))[0];
}

/** Does not check the owner: for events. */
export async function findConversations(db: Database, conversationIds: readonly string[]): Promise<ConversationRow[]> {
  return conversationIds.length === 0 ? [] : select(db, sql`c.id = ANY(${[...conversationIds]}::uuid[])`);
}
