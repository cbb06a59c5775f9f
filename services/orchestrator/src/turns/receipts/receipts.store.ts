import { randomUUIDv7 } from 'node:crypto';
import { LIMITS, type ReceiptStatus } from '@uswarm/contract';
import { storable, type ReceiptKey } from '@uswarm/service-kit';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { ReceiptsTable } from '../../platform/database/tables.js';
import { type ListPosition, listPosition } from '../../records/list-cursor.js';
import type { Effect, ToolCall } from '../tools/platform-tool.js';

export interface NewReceipt {
  call: Omit<ToolCall, 'signal' | 'ask' | 'depth' | 'userMessageId' | 'answer'>;
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
  WHERE a.turn_id = ${turnId} AND a.call_id = ${id} AND a.status = 'approved' AND a.question IS NULL)`;

export function findReceipt(db: Database, turnId: string, callId: string): Promise<SentReceipt | undefined> {
  return db
    .selectFrom('receipts')
    .select(['status', 'key', 'arguments_hash as argumentsHash', 'outcome', 'integration_id as integrationId'])
    .where('turn_id', '=', turnId)
    .where('call_id', '=', callId)
    .executeTakeFirst();
}

export async function countReceipts(db: Database, turnId: string): Promise<number> {
  const row = await db
    .selectFrom('receipts')
    .select(({ fn }) => fn.countAll<number>().as('sent'))
    .where('turn_id', '=', turnId)
    .where(IS_SENT)
    .executeTakeFirstOrThrow();
  return row.sent;
}

/** Newest first. */
export function findCallsOfConversation(db: Database, conversationId: string, limit: number): Promise<SentCall[]> {
  return db
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
    .execute();
}

/** True if another turn by the agent sent a call after the message. */
export async function hasSentSince(
  db: Database,
  { id, agentId, messageId }: { id: string; agentId: string; messageId: string },
): Promise<boolean> {
  const sent = await db
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
}

/** Stores the user's approval too, if the call needed one. @throws DatabaseError if the call is stored already */
export async function insertReceipt(
  db: Database,
  { call, tool, effect, arguments: input, argumentsHash, key }: NewReceipt,
): Promise<void> {
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
}

/** @returns the ended receipt */
export function insertOwnReceipt(
  db: Database,
  { call, tool, argumentsHash, outcome }: OwnReceipt,
): Promise<ReceiptRow> {
  return db
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
    .executeTakeFirstOrThrow();
}

/** @returns the ended receipt; none if the account was deleted */
export function finishReceipt(db: Database, turnId: string, callId: string, end: ReceiptEnd): Promise<ReceiptRow[]> {
  return (
    db
      .updateTable('receipts')
      .set(ended(end))
      .where('turn_id', '=', turnId)
      .where('call_id', '=', callId)
      // A signed receipt never changes.
      .where('status', '=', 'sent')
      .returningAll()
      .execute()
  );
}

/** Call ids that have no outcome yet. */
export async function findSentCalls(db: Database, turnId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('receipts')
    .select('call_id')
    .where('turn_id', '=', turnId)
    .where('status', '=', 'sent')
    .execute();
  return rows.map(({ call_id: callId }) => callId);
}

/** Calls that were sent without an outcome and that no turn continues; by id, after `afterId`. */
export function findLeftReceipts(db: Database, limit: number, afterId?: string): Promise<ReceiptRow[]> {
  let query = db.selectFrom('receipts').selectAll().where('jws', 'is', null).where(IS_LEFT).orderBy('id').limit(limit);
  if (afterId !== undefined) query = query.where('id', '>', afterId);
  return query.execute();
}

/** Ends a call that was sent without an outcome and that no turn continues. @returns the ended receipt */
export function finishLeftReceipt(db: Database, id: string, end: ReceiptEnd): Promise<ReceiptRow[]> {
  return db.updateTable('receipts').set(ended(end)).where('id', '=', id).where(IS_LEFT).returningAll().execute();
}

/** Locks ended receipts without a signature. */
export function lockUnsignedReceipts(db: Database, limit: number): Promise<ReceiptRow[]> {
  return db
    .selectFrom('receipts')
    .selectAll()
    .where('jws', 'is', null)
    .where('status', '<>', 'sent')
    .orderBy('sent_at')
    .limit(limit)
    .forUpdate()
    .skipLocked()
    .execute();
}

export async function signReceipt(db: Database, id: string, jws: string, { kid, x }: ReceiptKey): Promise<void> {
  await sql`
    WITH known AS (INSERT INTO receipt_keys (kid, x) VALUES (${kid}, ${x}) ON CONFLICT DO NOTHING)
    UPDATE receipts SET kid = ${kid}, jws = ${jws} WHERE id = ${id}`.execute(db);
}

/** Newest first. Fewer than `limit` rows if they are long: then at least one more than fits into one response. */
export async function listReceipts(
  db: Database,
  userId: string,
  {
    workspaceId,
    workspaceIds = null,
    limit,
    after,
  }: {
    workspaceId?: string | undefined;
    workspaceIds?: readonly string[] | null;
    limit: number;
    after?: ListPosition | undefined;
  },
): Promise<ListedReceipt[]> {
  const ofWorkspace = workspaceId === undefined ? sql`` : sql`AND workspace_id = ${workspaceId}`;
  const within = workspaceIds === null ? sql`` : sql`AND workspace_id = ANY (${[...workspaceIds]}::uuid[])`;
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
        WHERE user_id = ${userId} ${ofWorkspace} ${within} ${behind}
        ORDER BY sent_at DESC, id DESC LIMIT ${limit}
      ) page
    ) page JOIN receipts r ON r.id = page.id
    WHERE page.before < ${LIMITS.listBytes}
    ORDER BY r.sent_at DESC, r.id DESC`.execute(db);
  return rows;
}

export function getReceipt(db: Database, userId: string, id: string): Promise<ReceiptRow | undefined> {
  return db.selectFrom('receipts').selectAll().where('user_id', '=', userId).where('id', '=', id).executeTakeFirst();
}

export function listReceiptKeys(db: Database): Promise<ReceiptKey[]> {
  return db.selectFrom('receipt_keys').select(['kid', 'x']).orderBy('created_at', 'desc').orderBy('kid').execute();
}

export interface ImportedReceipt extends ReceiptKey {
  jws: string;
}

/** Receipts of another installation. */
export async function insertImportedReceipts(
  db: Database,
  workspaceId: string,
  receipts: readonly (ImportedReceipt & { number: number })[],
): Promise<void> {
  if (receipts.length === 0) return;
  const rows = receipts.map(({ number, jws, kid, x }) => ({ workspace_id: workspaceId, number, jws, kid, x }));
  await db.insertInto('imported_receipts').values(rows).execute();
}

/** As their file orders them, after a number. */
export function listImportedReceipts(
  db: Database,
  workspaceId: string,
  after: number,
  limit: number,
): Promise<(ImportedReceipt & { number: number })[]> {
  return db
    .selectFrom('imported_receipts')
    .select(['number', 'jws', 'kid', 'x'])
    .where('workspace_id', '=', workspaceId)
    .where('number', '>', after)
    .orderBy('number')
    .limit(limit)
    .execute();
}

/** The keys that came with the workspace's imported receipts. */
export function listImportedKeys(db: Database, workspaceId: string): Promise<ReceiptKey[]> {
  return db
    .selectFrom('imported_receipts')
    .select(['kid', 'x'])
    .distinct()
    .where('workspace_id', '=', workspaceId)
    .orderBy('kid')
    .orderBy('x')
    .execute();
}

/** Gives a suspended turn's receipts to the turn that continues it. */
export async function moveReceipts(db: Database, fromTurnId: string, toTurnId: string): Promise<void> {
  await db.updateTable('receipts').set({ turn_id: toTurnId }).where('turn_id', '=', fromTurnId).execute();
}
