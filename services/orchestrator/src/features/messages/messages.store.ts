import type { Mention, MessageContent, MessageRole, MessageStatus } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { StoredAttachment } from '../uploads/attachments.js';
import type { MessageRow } from './message-view.js';

export interface NewMessage {
  id: string;
  workspaceId: string;
  conversationId: string;
  seq: number;
  role: MessageRole;
  content: MessageContent;
  status: MessageStatus;
  senderId?: string;
  agentId?: string;
  localId?: string;
  bodyHash?: Buffer;
  mentions?: Mention[];
  attachments?: StoredAttachment[];
  /** Of a message that a turn writes besides its reply. */
  turn?: { id: string; key: string };
}

export interface MessageChange {
  content?: MessageContent;
  status?: MessageStatus;
  /** The seq of the event that shows a reply in full; unread counts begin there. */
  shownSeq?: number;
}

export interface SentBefore {
  id: string;
  body_hash: Buffer | null;
}

export interface MessageStore {
  insert(message: NewMessage, db: Database): Promise<void>;
  update(id: string, change: MessageChange, db: Database): Promise<void>;
  find(ids: readonly string[], db?: Database): Promise<MessageRow[]>;
  findSent(workspaceId: string, senderId: string, localId: string): Promise<SentBefore | undefined>;
  /** Whether a message that is gone had this local id. */
  isSpent(workspaceId: string, senderId: string, localId: string, db: Database): Promise<boolean>;
  /**
   * Removes up to `limit` messages of a conversation but leaves the newest `keep`; their local ids stay used.
   * @returns how many it removed
   */
  removeBehind(conversationId: string, keep: number, limit: number, db?: Database): Promise<number>;
  /** The message that a turn wrote under this key. */
  findOfTurn(turnId: string, key: string, db: Database): Promise<string | undefined>;
  /** Up to `limit` messages after `seq` in the direction: `older` newest first, `newer` oldest first. */
  page(conversationId: string, walk: Walk, seq: number | null, limit: number): Promise<MessageRow[]>;
  hasAny(conversationId: string, walk: Walk, seq: number): Promise<boolean>;
}

/** A message with its agent and the runtime of its workspace; `m` is the message. */
export const MESSAGE_COLUMNS = sql`
  m.id, m.workspace_id, m.conversation_id, m.seq, m.role, m.content, m.status, m.local_id,
  m.mentions, m.attachments, m.created_at, m.updated_at, m.agent_id,
  a.name AS agent_name, a.role AS agent_role, a.kind AS agent_kind, a.slug AS agent_slug,
  a.avatar_url AS agent_avatar, a.activity AS agent_activity,
  r.phase AS runtime_phase, r.identified_at AS runtime_identified_at`;

export const MESSAGE_JOINS = sql`
  LEFT JOIN agents a ON a.id = m.agent_id
  LEFT JOIN runtimes r ON r.workspace_id = m.workspace_id`;

async function select(db: Database, rest: RawBuilder<unknown>): Promise<MessageRow[]> {
  const { rows } = await sql<MessageRow>`
    SELECT ${MESSAGE_COLUMNS} FROM messages m ${MESSAGE_JOINS} ${rest}`.execute(db);
  return rows;
}

export type Walk = 'older' | 'newer';

export function beyond(walk: Walk, seq: number | null): RawBuilder<unknown> {
  if (seq === null) return sql`true`;
  return walk === 'older' ? sql`m.seq < ${seq}` : sql`m.seq > ${seq}`;
}

export function createMessageStore(database: Database): MessageStore {
  return {
    async insert(message, db) {
      await db
        .insertInto('messages')
        .values({
          id: message.id,
          workspace_id: message.workspaceId,
          conversation_id: message.conversationId,
          seq: message.seq,
          role: message.role,
          sender_id: message.senderId ?? null,
          agent_id: message.agentId ?? null,
          content: JSON.stringify(message.content),
          status: message.status,
          local_id: message.localId ?? null,
          body_hash: message.bodyHash ?? null,
          mentions: JSON.stringify(message.mentions ?? []),
          attachments: JSON.stringify(message.attachments ?? []),
          turn_id: message.turn?.id ?? null,
          turn_key: message.turn?.key ?? null,
        })
        .execute();
      await db
        .updateTable('conversations')
        .set({ updated_at: sql<Date>`now()` })
        .where('id', '=', message.conversationId)
        .execute();
    },

    async update(id, { content, status, shownSeq }, db) {
      await db
        .updateTable('messages')
        .set({
          ...(content === undefined ? {} : { content: JSON.stringify(content) }),
          ...(status === undefined ? {} : { status }),
          ...(shownSeq === undefined ? {} : { shown_seq: shownSeq }),
          updated_at: sql<Date>`clock_timestamp()`,
        })
        .where('id', '=', id)
        .execute();
    },

    find: async (ids, db = database) =>
      ids.length === 0 ? [] : select(db, sql`WHERE m.id = ANY(${[...ids]}::uuid[])`),

    findSent: (workspaceId, senderId, localId) =>
      database
        .selectFrom('messages')
        .select(['id', 'body_hash'])
        .where('workspace_id', '=', workspaceId)
        .where('sender_id', '=', senderId)
        .where('local_id', '=', localId)
        .executeTakeFirst(),

    async isSpent(workspaceId, senderId, localId, db) {
      const { rows } = await sql<{ found: boolean }>`
        SELECT EXISTS (
          SELECT 1 FROM spent_local_ids
          WHERE workspace_id = ${workspaceId} AND sender_id = ${senderId}
            AND local_id_hash = sha256(convert_to(${localId}, 'UTF8'))
        ) AS found`.execute(db);
      return rows[0]?.found ?? false;
    },

    async removeBehind(conversationId, keep, limit, db = database) {
      const { rows } = await sql<{ removed: number }>`
        WITH removed AS (
          DELETE FROM messages WHERE id IN (
            SELECT id FROM messages WHERE conversation_id = ${conversationId}
            ORDER BY seq DESC OFFSET ${keep} LIMIT ${limit}
          )
          RETURNING workspace_id, sender_id, local_id
        ), spent AS (
          INSERT INTO spent_local_ids (workspace_id, sender_id, local_id_hash)
          SELECT workspace_id, sender_id, sha256(convert_to(local_id, 'UTF8')) FROM removed WHERE local_id IS NOT NULL
          ON CONFLICT DO NOTHING
        )
        SELECT count(*) AS removed FROM removed`.execute(db);
      return rows[0]?.removed ?? 0;
    },

    async findOfTurn(turnId, key, db) {
      const row = await db
        .selectFrom('messages')
        .select('id')
        .where('turn_id', '=', turnId)
        .where('turn_key', '=', key)
        .executeTakeFirst();
      return row?.id;
    },

    page: (conversationId, walk, seq, limit) =>
      select(
        database,
        sql`WHERE m.conversation_id = ${conversationId} AND ${beyond(walk, seq)}
          ORDER BY m.seq ${walk === 'older' ? sql`DESC` : sql`ASC`} LIMIT ${limit}`,
      ),

    async hasAny(conversationId, walk, seq) {
      const { rows } = await sql<{ found: boolean }>`
        SELECT (
          SELECT m.seq FROM messages m WHERE m.conversation_id = ${conversationId} AND ${beyond(walk, seq)}
          ORDER BY m.seq ${walk === 'older' ? sql`DESC` : sql`ASC`} LIMIT 1
        ) IS NOT NULL AS found`.execute(database);
      return rows[0]?.found ?? false;
    },
  };
}
