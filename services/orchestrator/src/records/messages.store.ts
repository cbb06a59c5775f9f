import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { FORCE_CUSTOM_PLAN } from '../platform/database/prepared.js';
import { currentActivity } from './agent-status.store.js';
import { UNREAD, WORKSPACE_UNREAD } from './unread.js';
import { answerEnded } from './answers.js';
import type { ChangedMessageRow, MessageRow, PageRow } from '../chat/message-view.js';
import { keysetAfter, keysetBehind, listOrder, type Position, type PageDirection } from './position.js';
import { bounded, BOUNDED_COLUMNS, JOIN_BOUNDED } from './stored-bytes.js';
import { removedMessages } from './message-rows.js';
import { traceIdOf } from './turn-rows.js';

export { updateMessage } from './message-rows.js';

/** The failed turn's trace. */
const ERROR_TRACE = sql`CASE WHEN m.status IN ('failed', 'incomplete') THEN (
  SELECT ${traceIdOf('t')} FROM turns t WHERE t.id = m.answer_turn_id
) END AS error_trace_id`;

/** The columns of a message `m`. */
export const ownColumns = (content: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  m.id, m.workspace_id, m.conversation_id, m.seq, greatest(m.rev, m.seq) AS rev, m.before_seq, m.error_code, m.role, ${content} AS content, m.status, m.local_id,
  m.mentions, m.attachments, m.created_at, m.updated_at, m.edited_at, m.agent_id, m.answer_turn_id, m.in_reply_to, m.answered_with,
  m.schedule_id, m.trigger_id,
  ${ERROR_TRACE}`;

/** A message `m` with its agent and the workspace's runtime. */
export const messageColumns = (content: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  ${ownColumns(content)},
  a.name AS agent_name, a.role AS agent_role, a.kind AS agent_kind, a.slug AS agent_slug,
  a.avatar_url AS agent_avatar, ${currentActivity('a')} AS agent_activity,
  r.phase AS runtime_phase, r.silent_since AS runtime_silent_since`;
const MESSAGE_COLUMNS = messageColumns(sql`m.content`);

export const MESSAGE_JOINS = sql`
  LEFT JOIN agents a ON a.id = m.agent_id
  LEFT JOIN runtimes r ON r.workspace_id = m.workspace_id`;

/**
 * As many as fit into one response.
 *
 * @param messages selects `BOUNDED_COLUMNS` for at most one page
 * @param behind true if messages exist on the other side of `position`
 */
export async function selectPage(
  db: Database,
  messages: RawBuilder<unknown>,
  pageDirection: PageDirection,
  behind: RawBuilder<unknown> = sql`NULL`,
): Promise<PageRow[]> {
  const { rows } = await sql<PageRow>`
    ${FORCE_CUSTOM_PLAN} SELECT ${MESSAGE_COLUMNS}, page.found, page.total_bytes, ${behind} AS behind
    FROM ${bounded(messages, pageDirection)} ${JOIN_BOUNDED} ${MESSAGE_JOINS}
    ORDER BY page.position`.execute(db);
  return rows;
}

/** Seq of the first match. The order selects the index. */
const firstOf = (
  conversationId: string,
  where: RawBuilder<unknown>,
  pageDirection: PageDirection,
): RawBuilder<unknown> => sql`(
  SELECT m.seq FROM messages m WHERE m.conversation_id = ${conversationId} AND ${where}
  ORDER BY ${listOrder(pageDirection)} LIMIT 1
)`;

async function select(db: Database, rest: RawBuilder<unknown>): Promise<MessageRow[]> {
  const { rows } = await sql<MessageRow>`
    SELECT ${MESSAGE_COLUMNS} FROM messages m ${MESSAGE_JOINS} ${rest}`.execute(db);
  return rows;
}

export async function findMessages(db: Database, ids: readonly string[]): Promise<MessageRow[]> {
  return ids.length === 0 ? [] : select(db, sql`WHERE m.id = ANY(${[...ids]}::uuid[])`);
}

/** Messages with what they change in their conversation and workspace. */
export async function findChangedMessages(db: Database, ids: readonly string[]): Promise<ChangedMessageRow[]> {
  if (ids.length === 0) return [];
  const { rows } = await sql<ChangedMessageRow>`
    SELECT ${MESSAGE_COLUMNS}, coalesce(c.title, p.name, w.name) AS conversation_title,
      ${UNREAD} AS conversation_unread, ${WORKSPACE_UNREAD} AS workspace_unread, ${answerEnded('m')} AS answer_ended
    FROM (SELECT * FROM messages m WHERE m.id = ANY(${[...ids]}::uuid[])) m ${MESSAGE_JOINS}
    JOIN conversations c ON c.id = m.conversation_id
    JOIN workspaces w ON w.id = m.workspace_id
    LEFT JOIN agents p ON p.id = c.agent_id`.execute(db);
  return rows;
}

/**
 * Deletes up to `limit` messages in a conversation except the newest `keep`. Their local ids stay used.
 *
 * @returns the number of deleted messages
 */
export async function trimOldestMessages(
  db: Database,
  conversationId: string,
  keep: number,
  limit: number,
): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    WITH ${removedMessages(sql`id IN (
      SELECT id FROM messages WHERE conversation_id = ${conversationId} ORDER BY seq DESC OFFSET ${keep} LIMIT ${limit}
    )`)}
    SELECT count(*) AS removed FROM removed`.execute(db);
  return rows[0]?.removed ?? 0;
}

/** Like `findOfTurn`, with the tool status. */
export async function findToolLine(
  db: Database,
  turnId: string,
  key: string,
): Promise<{ id: string; state: string | null } | undefined> {
  const { rows } = await sql<{ id: string; state: string | null }>`
    SELECT id, content ->> 'state' AS state FROM messages WHERE turn_id = ${turnId} AND turn_key = ${key}`.execute(db);
  return rows[0];
}

export async function findMessageOfTurn(db: Database, turnId: string, key: string): Promise<string | undefined> {
  const { rows } = await sql<{ id: string }>`
    SELECT id FROM messages WHERE turn_id = ${turnId} AND turn_key = ${key}`.execute(db);
  return rows[0]?.id;
}

/** Reads the whole conversation: call it only for what happens a few times a month. */
export async function hasSystemMessage(db: Database, conversationId: string, text: string): Promise<boolean> {
  const { rows } = await sql`
    SELECT FROM messages
    WHERE conversation_id = ${conversationId} AND role = 'system' AND content ->> 'text' = ${text} LIMIT 1`.execute(db);
  return rows.length > 0;
}

/**
 * Up to `limit` messages after `position` in the direction: `older` newest first, `newer` oldest first. Fewer if they
 * do not fit into one response. Each has `behind` if there is a position.
 */
export async function pageMessages(
  db: Database,
  conversationId: string,
  pageDirection: PageDirection,
  position: Position | null,
  limit: number,
): Promise<PageRow[]> {
  const messages = sql`
    SELECT ${BOUNDED_COLUMNS} FROM messages m
    WHERE m.conversation_id = ${conversationId} AND ${keysetAfter(pageDirection, position)}
    ORDER BY ${listOrder(pageDirection)} LIMIT ${limit}`;
  if (position === null) return selectPage(db, messages, pageDirection);
  const opposite = pageDirection === 'older' ? 'newer' : 'older';
  const behind = firstOf(conversationId, keysetBehind(pageDirection, position), opposite);
  return selectPage(db, messages, pageDirection, sql`${behind} IS NOT NULL`);
}

export async function hasMessages(
  db: Database,
  conversationId: string,
  pageDirection: PageDirection,
  position: Position,
): Promise<boolean> {
  const first = firstOf(conversationId, keysetAfter(pageDirection, position), pageDirection);
  const { rows } = await sql<{ found: boolean }>`
    ${FORCE_CUSTOM_PLAN} SELECT ${first} IS NOT NULL AS found`.execute(db);
  return rows[0]?.found ?? false;
}
