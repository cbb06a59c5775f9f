import type { AgentRole, ConversationType } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { AgentActivity, TitleSource } from '../../database/schema.js';
import { MESSAGE_COLUMNS } from '../messages/messages.store.js';
import type { MessageRow } from '../messages/message-view.js';
import { listed } from '../messages/place.js';
import { STORED_BYTES } from '../messages/stored-bytes.js';
import { LAST_READ, UNREAD } from './unread.js';

/** A conversation with its agent and, where there is one, its last message. */
export interface ConversationRow {
  own_id: string;
  type: ConversationType;
  title: string;
  conversation_created_at: Date;
  conversation_updated_at: Date;
  unread_count: number;
  last_read_id: string | null;
  partner_id: string | null;
  partner_name: string;
  partner_role: string;
  partner_kind: AgentRole;
  partner_slug: string;
  partner_avatar: string;
  partner_activity: AgentActivity;
  partner_phase: MessageRow['runtime_phase'];
  partner_silent_since: Date | null;
  last_message: MessageRow | null;
}

export interface NewConversation {
  id: string;
  workspaceId: string;
  type: ConversationType;
  agentId: string | null;
  title?: string | undefined;
}

export interface NewTitle {
  text: string | null;
  source: TitleSource | null;
}

/** Position of a conversation in the list of its workspace. */
export interface ConversationPlace {
  id: string;
  /** With microseconds: `2026-11-22T10:00:00.123456Z`. */
  activeAt: string;
  /** About how many bytes its last message takes; see `STORED_BYTES`. */
  bytes: number;
}

export interface ConversationStore {
  insert(conversation: NewConversation, db: Database): Promise<void>;
  /** What sending needs to know of a conversation. */
  findTarget(workspaceId: string, conversationId: string): Promise<{ agentId: string | null } | undefined>;
  /** To be asked after an event was appended, which locks the workspace: concurrent creations count each other. */
  count(workspaceId: string, db: Database): Promise<number>;
  /**
   * Conversations after a place in the direction, `older` the most recently active first, `newer` the other way.
   *
   * @param limit null for all
   */
  places(
    workspaceId: string,
    walk: 'older' | 'newer',
    place: Pick<ConversationPlace, 'id' | 'activeAt'> | undefined,
    limit: number | null,
  ): Promise<ConversationPlace[]>;
  /** @returns false if the conversation is deleted */
  setTitle(workspaceId: string, conversationId: string, title: NewTitle, db: Database): Promise<boolean>;
  /** Replaces a title that was taken from the first message; null when no message has words. Others stay. */
  setTitleFromMessage(conversationId: string, title: string | null, db: Database): Promise<void>;
  /** The text of the first message of the user that has any. */
  firstText(conversationId: string, db: Database): Promise<string | undefined>;
  find(workspaceId: string, conversationId: string): Promise<ConversationRow | undefined>;
  /** Removes a conversation with all that is left in it. @returns false if it is already deleted */
  remove(conversationId: string, db: Database): Promise<boolean>;
  /** Without asking whose they are: for events. */
  findAll(conversationIds: readonly string[], db?: Database): Promise<ConversationRow[]>;
}

type FlatRow = Omit<ConversationRow, 'last_message'> & Omit<MessageRow, 'id'> & { id: string | null };

/** One statement for a whole list; the last message and the count are index look-ups a conversation. */
async function select(db: Database, where: RawBuilder<unknown>): Promise<ConversationRow[]> {
  const { rows } = await sql<FlatRow>`
    SELECT c.id AS own_id, c.type, coalesce(c.title, p.name, w.name) AS title,
      c.created_at AS conversation_created_at, c.updated_at AS conversation_updated_at,
      ${UNREAD} AS unread_count, ${LAST_READ} AS last_read_id,
      p.id AS partner_id, p.name AS partner_name, p.role AS partner_role, p.kind AS partner_kind,
      p.slug AS partner_slug, p.avatar_url AS partner_avatar, p.activity AS partner_activity,
      r.phase AS partner_phase, r.silent_since AS partner_silent_since,
      ${MESSAGE_COLUMNS}
    FROM conversations c
    JOIN workspaces w ON w.id = c.workspace_id
    LEFT JOIN runtimes r ON r.workspace_id = c.workspace_id
    LEFT JOIN agents p ON p.id = c.agent_id
    LEFT JOIN LATERAL (
      SELECT * FROM messages m WHERE m.conversation_id = c.id AND m.content ->> 'type' <> 'tool_status'
      ORDER BY ${listed('older')} LIMIT 1
    ) m ON true
    LEFT JOIN agents a ON a.id = m.agent_id
    WHERE ${where}
    ORDER BY c.updated_at DESC, c.id DESC`.execute(db);
  return rows.map((row) => ({ ...row, last_message: row.id === null ? null : { ...row, id: row.id } }));
}

export function createConversationStore(database: Database): ConversationStore {
  return {
    async insert({ id, workspaceId, type, agentId, title }, db) {
      const named = title === undefined ? {} : ({ title, title_source: 'user' } as const);
      await db
        .insertInto('conversations')
        .values({ id, workspace_id: workspaceId, type, agent_id: agentId, ...named })
        .execute();
    },

    async findTarget(workspaceId, conversationId) {
      const row = await database
        .selectFrom('conversations')
        .select('agent_id')
        .where('id', '=', conversationId)
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst();
      return row === undefined ? undefined : { agentId: row.agent_id };
    },

    async count(workspaceId, db) {
      const { rows } = await sql<{ count: number }>`
        SELECT count(*) FROM conversations WHERE workspace_id = ${workspaceId}`.execute(db);
      return rows[0]?.count ?? 0;
    },

    async places(workspaceId, walk, place, limit) {
      const after = sql`(${place?.activeAt ?? null}::timestamptz, ${place?.id ?? null}::uuid)`;
      const key = sql`(c.updated_at, c.id)`;
      const beyond = walk === 'older' ? sql`${key} < ${after}` : sql`${key} > ${after}`;
      const order = walk === 'older' ? sql`c.updated_at DESC, c.id DESC` : sql`c.updated_at, c.id`;
      const { rows } = await sql<ConversationPlace>`
        SELECT c.id, to_char(c.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS "activeAt",
          coalesce((
            SELECT ${STORED_BYTES} FROM messages m WHERE m.conversation_id = c.id
              AND m.content ->> 'type' <> 'tool_status'
            ORDER BY ${listed('older')} LIMIT 1
          ), 0) AS bytes
        FROM conversations c
        WHERE c.workspace_id = ${workspaceId} AND ${place === undefined ? sql`true` : beyond}
        ORDER BY ${order} LIMIT ${limit}`.execute(database);
      return rows;
    },

    async setTitle(workspaceId, conversationId, { text, source }, db) {
      const result = await db
        .updateTable('conversations')
        .set({ title: text, title_source: source })
        .where('id', '=', conversationId)
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirst();
      return result.numUpdatedRows === 1n;
    },

    async setTitleFromMessage(conversationId, title, db) {
      await db
        .updateTable('conversations')
        .set({ title, title_source: title === null ? null : 'first_message' })
        .where('id', '=', conversationId)
        .where('title_source', '=', 'first_message')
        .execute();
    },

    async firstText(conversationId, db) {
      const { rows } = await sql<{ text: string }>`
        SELECT m.content ->> 'text' AS text FROM messages m
        WHERE m.conversation_id = ${conversationId} AND m.role = 'user' AND m.content ->> 'text' <> ''
        ORDER BY ${listed('newer')} LIMIT 1`.execute(db);
      return rows[0]?.text;
    },

    find: async (workspaceId, conversationId) =>
      (await select(database, sql`c.id = ${conversationId} AND c.workspace_id = ${workspaceId}`))[0],

    async remove(conversationId, db) {
      const result = await db.deleteFrom('conversations').where('id', '=', conversationId).executeTakeFirst();
      return result.numDeletedRows === 1n;
    },

    findAll: async (conversationIds, db = database) =>
      conversationIds.length === 0 ? [] : select(db, sql`c.id = ANY(${[...conversationIds]}::uuid[])`),
  };
}
