import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { FORCE_CUSTOM_PLAN } from '../platform/database/prepared.js';
import { currentActivity } from './agent-status.store.js';
import { UNREAD, WORKSPACE_UNREAD } from './unread.js';
import { answerEnded } from './answers.js';
import type { ChangedMessageRow, MessageRow, PageRow } from '../chat/message-view.js';
import { keysetAfter, keysetBehind, listOrder, type Position, type PageDirection } from './position.js';
import { bounded, BOUNDED_COLUMNS, JOIN_BOUNDED } from './stored-bytes.js';
import { type MessageChange, removedMessages, updateMessage } from './message-rows.js';

export interface MessageStore {
  update(id: string, change: MessageChange, db: Database): Promise<void>;
  find(ids: readonly string[], db?: Database): Promise<MessageRow[]>;
  /** Messages with what they change in their conversation and workspace. */
  findChanged(ids: readonly string[], db: Database): Promise<ChangedMessageRow[]>;
  /**
   * Deletes up to `limit` messages in a conversation except the newest `keep`. Their local ids stay used.
   *
   * @returns the number of deleted messages
   */
  trimOldest(conversationId: string, keep: number, limit: number, db?: Database): Promise<number>;
  findOfTurn(turnId: string, key: string, db: Database): Promise<string | undefined>;
  /** Like `findOfTurn`, with the tool status. */
  findLine(turnId: string, key: string, db: Database): Promise<{ id: string; state: string | null } | undefined>;
  /**
   * Up to `limit` messages after `position` in the direction: `older` newest first, `newer` oldest first. Fewer if they
   * do not fit into one response. Each has `behind` if there is a position.
   */
  page(
    conversationId: string,
    pageDirection: PageDirection,
    position: Position | null,
    limit: number,
    db?: Database,
  ): Promise<PageRow[]>;
  hasAny(conversationId: string, pageDirection: PageDirection, position: Position, db?: Database): Promise<boolean>;
}

/** The columns of a message `m`. */
export const ownColumns = (content: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  m.id, m.workspace_id, m.conversation_id, m.seq, greatest(m.rev, m.seq) AS rev, m.before_seq, m.error_code, m.role, ${content} AS content, m.status, m.local_id,
  m.mentions, m.attachments, m.created_at, m.updated_at, m.edited_at, m.agent_id, m.answer_turn_id, m.in_reply_to`;

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
  messages: RawBuilder<unknown>,
  pageDirection: PageDirection,
  db: Database,
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

export function createMessageStore(database: Database): MessageStore {
  return {
    update: updateMessage,

    find: async (ids, db = database) =>
      ids.length === 0 ? [] : select(db, sql`WHERE m.id = ANY(${[...ids]}::uuid[])`),

    async findChanged(ids, db) {
      if (ids.length === 0) return [];
      const { rows } = await sql<ChangedMessageRow>`
        SELECT ${MESSAGE_COLUMNS}, coalesce(c.title, p.name, w.name) AS conversation_title,
          ${UNREAD} AS conversation_unread, ${WORKSPACE_UNREAD} AS workspace_unread, ${answerEnded('m')} AS answer_ended
        FROM (SELECT * FROM messages m WHERE m.id = ANY(${[...ids]}::uuid[])) m ${MESSAGE_JOINS}
        JOIN conversations c ON c.id = m.conversation_id
        JOIN workspaces w ON w.id = m.workspace_id
        LEFT JOIN agents p ON p.id = c.agent_id`.execute(db);
      return rows;
    },

    async trimOldest(conversationId, keep, limit, db = database) {
      const { rows } = await sql<{ removed: number }>`
        WITH ${removedMessages(sql`id IN (
          SELECT id FROM messages WHERE conversation_id = ${conversationId} ORDER BY seq DESC OFFSET ${keep} LIMIT ${limit}
        )`)}
        SELECT count(*) AS removed FROM removed`.execute(db);
      return rows[0]?.removed ?? 0;
    },

    async findLine(turnId, key, db) {
      const { rows } = await sql<{ id: string; state: string | null }>`
        SELECT id, content ->> 'state' AS state FROM messages WHERE turn_id = ${turnId} AND turn_key = ${key}`.execute(
        db,
      );
      return rows[0];
    },

    async findOfTurn(turnId, key, db) {
      const { rows } = await sql<{ id: string }>`
        SELECT id FROM messages WHERE turn_id = ${turnId} AND turn_key = ${key}`.execute(db);
      return rows[0]?.id;
    },

    async page(conversationId, pageDirection, position, limit, db = database) {
      const messages = sql`
        SELECT ${BOUNDED_COLUMNS} FROM messages m
        WHERE m.conversation_id = ${conversationId} AND ${keysetAfter(pageDirection, position)}
        ORDER BY ${listOrder(pageDirection)} LIMIT ${limit}`;
      if (position === null) return selectPage(messages, pageDirection, db);
      const opposite = pageDirection === 'older' ? 'newer' : 'older';
      const behind = firstOf(conversationId, keysetBehind(pageDirection, position), opposite);
      return selectPage(messages, pageDirection, db, sql`${behind} IS NOT NULL`);
    },

    async hasAny(conversationId, pageDirection, position, db = database) {
      const first = firstOf(conversationId, keysetAfter(pageDirection, position), pageDirection);
      const { rows } = await sql<{ found: boolean }>`
        ${FORCE_CUSTOM_PLAN} SELECT ${first} IS NOT NULL AS found`.execute(db);
      return rows[0]?.found ?? false;
    },
  };
}
