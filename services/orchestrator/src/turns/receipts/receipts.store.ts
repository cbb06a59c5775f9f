import { randomUUIDv7 } from 'node:crypto';
import { LIMITS, type ReceiptStatus } from '@uswarm/contract';
import { storable, type ReceiptKey } from '@uswarm/service-kit';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { ReceiptsTable } from '../../platform/database/tables.js';
import { type ListPosition, listPosition } from '../../records/list-cursor.js';
import type { Effect, ToolCall } from '../tools/platform-tool.js';

export interface NewReceipt {
  call: Omit<ToolCall, 'signal' | 'depth' | 'userMessageId' | 'answer'>;
  tool: string;
  effect: Exclude<Effect, 'read' | 'own'>;
  arguments: unknown;
  /** SHA-256 over tool and arguments. */
  argumentsHash: Buffer;
  /** Identifies the request in the other system. */
  key: string;
}

/** A completed call that changed uswarm data. */
export interface OwnReceipt {
  call: NewReceipt['call'];
  tool: string;
  /** SHA-256 over the arguments. The arguments are not stored: users can delete what agents wrote. */
  argumentsHash: Buffer;
  /** As told to the model. */
  outcome: string;
}

export interface SentReceipt {
  status: ReceiptStatus;
  key: string;
  argumentsHash: Buffer;
  /** As told to the model; null while the status is `sent`. */
  outcome: string | null;
  integrationId: string | null;
}

export type ReceiptRow = Selectable<ReceiptsTable>;
export type ListedReceipt = ReceiptRow & { position: ListPosition };

export interface ReceiptEnd {
  status: Exclude<ReceiptStatus, 'sent'>;
  outcome: string;
}

/** A call as later turns are told about it. */
export interface SentCall {
  tool: string;
  /** Beginning of the JSON. */
  arguments: string;
  status: ReceiptStatus;
  sentAt: Date;
}

const TOLD_CHARACTERS = 400;

export interface ReceiptStore {
  find(turnId: string, callId: string, db: Database): Promise<SentReceipt | undefined>;
  count(turnId: string, db: Database): Promise<number>;
  /** Newest first. */
  ofConversation(conversationId: string, limit: number): Promise<SentCall[]>;
  /** True if another turn by the agent sent a call after the message. */
  sentSince(turn: { id: string; agentId: string; messageId: string }): Promise<boolean>;
  /** Stores the user's approval too, if the call needed one. @throws DatabaseError if the call is stored already */
  insert(receipt: NewReceipt, db: Database): Promise<void>;
  /** @returns the ended receipt */
  insertOwn(receipt: OwnReceipt, db: Database): Promise<ReceiptRow>;
  /** @returns the ended receipt; none if the account was deleted */
  finish(turnId: string, callId: string, end: ReceiptEnd, db: Database): Promise<ReceiptRow[]>;
  /** Call ids that have no outcome yet. */
  sentOf(turnId: string, db: Database): Promise<string[]>;
  /** Calls that were sent without an outcome and that no turn continues; by id, after `afterId`. */
  left(limit: number, afterId?: string): Promise<ReceiptRow[]>;
  /** Ends a call that was sent without an outcome and that no turn continues. @returns the ended receipt */
  finishLeft(id: string, end: ReceiptEnd, db: Database): Promise<ReceiptRow[]>;
  /** Locks ended receipts without a signature. */
  lockUnsigned(limit: number, db: Database): Promise<ReceiptRow[]>;
  sign(id: string, jws: string, key: ReceiptKey, db: Database): Promise<void>;
  /** Newest first. Fewer than `limit` rows if they are long: then at least one more than fits into one response. */
  list(
    userId: string,
    filter: { workspaceId?: string | undefined; limit: number; after?: ListPosition | undefined },
  ): Promise<ListedReceipt[]>;
  get(userId: string, id: string): Promise<ReceiptRow | undefined>;
  keys(): Promise<ReceiptKey[]>;
}

const ended = ({ status, outcome }: ReceiptEnd) => ({ status, outcome, finished_at: sql<Date>`now()` });

/** Selects calls to other systems; calls that changed uswarm data were not sent. */
export const IS_SENT = sql<boolean>`effect <> 'own'`;

/** The call was sent, has no outcome, and no turn will request it again. */
const IS_LEFT = sql<boolean>`receipts.status = 'sent' AND NOT EXISTS (
  SELECT FROM turns t WHERE t.id = receipts.turn_id AND t.status IN ('queued', 'running'))`;

const columnsOf = (call: NewReceipt['call']) => ({
  id: randomUUIDv7(),
  user_id: call.userId,
  workspace_id: call.workspaceId,
  conversation_id: call.conversationId,
  agent_id: call.agentId,
  turn_id: call.turnId,
  call_id: call.id,
});

/**
 * Lower bound for a receipt's bytes in a response. Postgres knows a signature's length without reading it. Postgres
 * writes JSON with more spaces, at most one per character.
 */
const BYTES = sql`coalesce(octet_length(jws), octet_length(arguments::text) / 2, 0)`;

/** Approval time, and the kept part of the card `m`; null if the call needed no approval. */
const approvalOf = ({ turnId, id }: NewReceipt['call'], shown: RawBuilder<unknown>) => sql<string>`(
  SELECT jsonb_build_object('approved_at', a.decided_at) || ${shown}
  FROM tool_approvals a JOIN messages m ON m.id = a.card_message_id
  WHERE a.turn_id = ${turnId} AND a.call_id = ${id} AND a.status = 'approved')`;

export const createReceiptStore = (database: Database): ReceiptStore => ({
  find: (turnId, callId, db) =>
    db
      .selectFrom('receipts')
      .select(['status', 'key', 'arguments_hash as argumentsHash', 'outcome', 'integration_id as integrationId'])
      .where('turn_id', '=', turnId)
      .where('call_id', '=', callId)
      .executeTakeFirst(),

  async count(turnId, db) {
    const row = await db
      .selectFrom('receipts')
      .select(({ fn }) => fn.countAll<number>().as('sent'))
      .where('turn_id', '=', turnId)
      .where(IS_SENT)
      .executeTakeFirstOrThrow();
    return row.sent;
  },

  ofConversation: (conversationId, limit) =>
    database
      .selectFrom('receipts')
      .select([
        'tool',
        sql<string>`left(arguments::text, ${TOLD_CHARACTERS})`.as('arguments'),
        'status',
        'sent_at as sentAt',
      ])
      .where('conversation_id', '=', conversationId)
      .where(IS_SENT)
      .orderBy('sent_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .execute(),

  async sentSince({ id, agentId, messageId }) {
    const sent = await database
      .selectFrom('receipts as r')
      .innerJoin('messages as m', 'm.conversation_id', 'r.conversation_id')
      .select('r.id')
      .where('m.id', '=', messageId)
      .where('r.agent_id', '=', agentId)
      .where('r.turn_id', '<>', id)
      .where(IS_SENT)
      .whereRef('r.sent_at', '>=', 'm.created_at')
      .limit(1)
      .executeTakeFirst();
    return sent !== undefined;
  },

  async insert({ call, tool, effect, arguments: input, argumentsHash, key }, db) {
    const shown = sql`jsonb_build_object('title', m.content ->> 'title', 'description', m.content ->> 'description')`;
    await db
      .insertInto('receipts')
      .values({
        ...columnsOf(call),
        tool,
        effect,
        arguments: JSON.stringify(input),
        arguments_hash: argumentsHash,
        // Other systems choose some keys.
        key: storable(key),
        integration_id: call.integrationId ?? null,
        approval: approvalOf(call, shown),
      })
      .execute();
  },

  insertOwn: ({ call, tool, argumentsHash, outcome }, db) =>
    db
      .insertInto('receipts')
      .values({
        ...columnsOf(call),
        ...ended({ status: 'succeeded', outcome }),
        tool,
        effect: 'own',
        arguments: null,
        arguments_hash: argumentsHash,
        key: call.id,
        // The card has the arguments.
        approval: approvalOf(call, sql`jsonb_build_object('title', null, 'description', null)`),
      })
      .returningAll()
      .executeTakeFirstOrThrow(),

  finish: (turnId, callId, end, db) =>
    db
      .updateTable('receipts')
      .set(ended(end))
      .where('turn_id', '=', turnId)
      .where('call_id', '=', callId)
      // A signed receipt never changes.
      .where('status', '=', 'sent')
      .returningAll()
      .execute(),

  async sentOf(turnId, db) {
    const rows = await db
      .selectFrom('receipts')
      .select('call_id')
      .where('turn_id', '=', turnId)
      .where('status', '=', 'sent')
      .execute();
    return rows.map(({ call_id: callId }) => callId);
  },

  left(limit, afterId) {
    let query = database
      .selectFrom('receipts')
      .selectAll()
      .where('jws', 'is', null)
      .where(IS_LEFT)
      .orderBy('id')
      .limit(limit);
    if (afterId !== undefined) query = query.where('id', '>', afterId);
    return query.execute();
  },

  finishLeft: (id, end, db) =>
    db.updateTable('receipts').set(ended(end)).where('id', '=', id).where(IS_LEFT).returningAll().execute(),

  lockUnsigned: (limit, db) =>
    db
      .selectFrom('receipts')
      .selectAll()
      .where('jws', 'is', null)
      .where('status', '<>', 'sent')
      .orderBy('sent_at')
      .limit(limit)
      .forUpdate()
      .skipLocked()
      .execute(),

  async sign(id, jws, { kid, x }, db) {
    await sql`
      WITH known AS (INSERT INTO receipt_keys (kid, x) VALUES (${kid}, ${x}) ON CONFLICT DO NOTHING)
      UPDATE receipts SET kid = ${kid}, jws = ${jws} WHERE id = ${id}`.execute(db);
  },

  async list(userId, { workspaceId, limit, after }) {
    const ofWorkspace = workspaceId === undefined ? sql`` : sql`AND workspace_id = ${workspaceId}`;
    const behind =
      after === undefined ? sql`` : sql`AND (sent_at, id) < (${after.time}::timestamptz, ${after.key}::uuid)`;
    const { rows } = await sql<ListedReceipt>`
      SELECT r.*, ${listPosition('r.sent_at', 'r.id')} AS position
      FROM (
        SELECT page.id, coalesce(sum(${BYTES}) OVER (
          ORDER BY sent_at DESC, id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 2 PRECEDING
        ), 0) AS before
        FROM (
          SELECT id, sent_at, jws, arguments FROM receipts
          WHERE user_id = ${userId} ${ofWorkspace} ${behind}
          ORDER BY sent_at DESC, id DESC LIMIT ${limit}
        ) page
      ) page JOIN receipts r ON r.id = page.id
      WHERE page.before < ${LIMITS.listBytes}
      ORDER BY r.sent_at DESC, r.id DESC`.execute(database);
    return rows;
  },

  get: (userId, id) =>
    database.selectFrom('receipts').selectAll().where('user_id', '=', userId).where('id', '=', id).executeTakeFirst(),

  keys: () =>
    database.selectFrom('receipt_keys').select(['kid', 'x']).orderBy('created_at', 'desc').orderBy('kid').execute(),
});

/** Gives a suspended turn's receipts to the turn that continues it. */
export async function moveReceipts(fromTurnId: string, toTurnId: string, db: Database): Promise<void> {
  await db.updateTable('receipts').set({ turn_id: toTurnId }).where('turn_id', '=', fromTurnId).execute();
}
