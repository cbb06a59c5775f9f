import { storable } from '@uswarm/service-kit';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { inMs } from '../platform/database/in-ms.js';
import { answersUser } from './answers-user.js';
import type { QuestionAnswer, StoredQuestion } from './question.js';
import { deleteContextAndCalls, insertCalls } from './turn-part-rows.js';

export type ApprovalStatus = 'open' | 'approved' | 'denied' | 'expired' | 'superseded';

export const APPROVAL_KEY = 'approval:';

export interface NewApproval {
  cardMessageId: string;
  turnId: string;
  conversationId: string;
  callId: string;
  tool: string;
  /** SHA-256 over the arguments on the card. */
  argumentsHash: Buffer;
  /** Identifies the request in the other system, as rendered on the card. */
  key?: string | undefined;
  integrationId?: string | undefined;
  /** Set on a card that asks for more tokens for the turn, not for a call. */
  grantedTokens?: number;
  /** Set on a card that asks for a call's server. */
  question?: StoredQuestion;
  expiresAt: Date;
}

/** `outdated`: the user approved the call too long ago. */
export interface FoundApproval {
  status: ApprovalStatus | 'outdated';
  argumentsHash: Buffer;
  key: string | null;
  integrationId: string | null;
  decidedAt: Date | null;
}

export interface DecidableApproval {
  turnId: string;
  /** True if the turn has ended, and another one must continue it. */
  turnEnded: boolean;
  /** True if everything that the turn needs to continue is stored. */
  canContinue: boolean;
  status: ApprovalStatus;
  isExpired: boolean;
  /** Tokens that the user can add to the turn's budget; null if the card is about a call. */
  grantedTokens: number | null;
  /** Null if the card asks for an approval. */
  question: StoredQuestion | null;
}

/** A card whose approval was closed without a decision. */
export interface ClosedCard {
  messageId: string;
  workspaceId: string;
  /** The turn that asked, or the turn that continues it. */
  turnId: string;
}

export interface EndedTurns {
  turnIds: readonly string[];
  /** Deleted messages: cards, and user messages whose turns disappear. */
  messageIds?: readonly string[];
}

export const IS_OPEN = sql`t.status = 'open' AND t.expires_at > now()`;

/** True if cards in a conversation wait for a decision. */
export const hasOpenApprovals = (conversationId: RawBuilder<unknown>): RawBuilder<boolean> => sql<boolean>`EXISTS (
  SELECT FROM tool_approvals WHERE conversation_id = ${conversationId} AND status = 'open'
)`;

/** Approval `a`'s call was neither sent nor executed. A turn's calls are stored until it ends. */
const NOT_EXECUTED = sql`EXISTS (
    SELECT FROM turns t WHERE t.id = a.turn_id
      AND (t.status IN ('queued', 'running') OR EXISTS (SELECT FROM turn_contexts c WHERE c.turn_id = t.id))
  )
  AND NOT EXISTS (SELECT FROM tool_calls c WHERE c.turn_id = a.turn_id AND c.call_id = a.call_id)
  AND NOT EXISTS (SELECT FROM receipts r WHERE r.turn_id = a.turn_id AND r.call_id = a.call_id)`;

/** How long after the decision an approved call can be executed: the user expects it soon. */
const USABLE = sql`interval '1 hour'`;

/**
 * Closes approvals that are not executed. A turn that waits for one can no longer continue: its other open approvals
 * are closed as well, and what it needs to continue is deleted, except its journal. Background turns, and turns that
 * also wait for other agents, still continue.
 */
async function close(
  db: Database,
  status: 'denied' | 'expired' | 'superseded',
  cards: ReturnType<typeof sql>,
): Promise<ClosedCard[]> {
  const { rows } = await sql<ClosedCard>`
    WITH named AS (
      SELECT card_message_id, turn_id, status FROM tool_approvals a
      WHERE card_message_id IN (${cards}) AND (status = 'open' OR status = 'approved' AND ${NOT_EXECUTED})
    ), ended AS (
      SELECT id FROM turns t
      WHERE id IN (SELECT turn_id FROM named WHERE status = 'open') AND status NOT IN ('queued', 'running')
        AND ${answersUser('t.id')}
        AND NOT EXISTS (SELECT FROM delegations d WHERE d.parent_turn_id = t.id AND d.status = 'running')
    ), closing AS (
      SELECT card_message_id FROM named
      UNION SELECT card_message_id FROM tool_approvals a
        WHERE turn_id IN (SELECT id FROM ended) AND (status = 'open' OR status = 'approved' AND ${NOT_EXECUTED})
    ), closed AS (
      UPDATE tool_approvals SET status = ${status}, decided_at = now()
      WHERE card_message_id IN (SELECT card_message_id FROM closing)
      RETURNING card_message_id, turn_id
    ), ${deleteContextAndCalls(sql`turn_id IN (SELECT id FROM ended)`)}
    SELECT m.id AS "messageId", m.workspace_id AS "workspaceId", closed.turn_id AS "turnId"
    FROM closed JOIN messages m ON m.id = closed.card_message_id ORDER BY m.id`.execute(db);
  return rows;
}

/** Expiry time by the database clock, which also decides what has expired. */
export async function approvalExpiryAt(db: Database, afterMs: number): Promise<Date> {
  const at = inMs(afterMs).as('at');
  return (await db.selectNoFrom(at).executeTakeFirstOrThrow()).at;
}

export async function insertApproval(
  db: Database,
  { cardMessageId, turnId, conversationId, callId, tool, ...bound }: NewApproval,
): Promise<void> {
  await db
    .insertInto('tool_approvals')
    .values({
      card_message_id: cardMessageId,
      turn_id: turnId,
      conversation_id: conversationId,
      call_id: callId,
      tool,
      arguments_hash: bound.argumentsHash,
      key: bound.key === undefined ? null : storable(bound.key),
      integration_id: bound.integrationId ?? null,
      granted_tokens: bound.grantedTokens ?? null,
      question: bound.question === undefined ? null : JSON.stringify(bound.question),
      expires_at: bound.expiresAt,
    })
    .execute();
}

export function findApproval(db: Database, turnId: string, callId: string): Promise<FoundApproval | undefined> {
  return db
    .selectFrom('tool_approvals')
    .select([
      sql<
        FoundApproval['status']
      >`CASE WHEN status = 'approved' AND decided_at < now() - ${USABLE} THEN 'outdated' ELSE status END`.as('status'),
      'arguments_hash as argumentsHash',
      'key',
      'integration_id as integrationId',
      'decided_at as decidedAt',
    ])
    .where('turn_id', '=', turnId)
    .where('call_id', '=', callId)
    .where('granted_tokens', 'is', null)
    .where('question', 'is', null)
    .executeTakeFirst();
}

export async function lockApproval(db: Database, cardMessageId: string): Promise<DecidableApproval | undefined> {
  const approval = await db
    .selectFrom('tool_approvals')
    .select([
      'turn_id as turnId',
      'status',
      'granted_tokens as grantedTokens',
      sql<StoredQuestion | null>`question`.as('question'),
      sql<boolean>`expires_at <= now()`.as('isExpired'),
    ])
    .where('card_message_id', '=', cardMessageId)
    .forUpdate()
    .executeTakeFirst();
  if (approval === undefined) return undefined;
  // After the lock: a turn that ends locks its approvals first.
  const turn = await db
    .selectFrom('turns as t')
    .select(({ exists, selectFrom }) => [
      't.status',
      exists(selectFrom('turn_contexts as c').select('c.turn_id').whereRef('c.turn_id', '=', 't.id')).as('hasContext'),
    ])
    .where('t.id', '=', approval.turnId)
    .executeTakeFirstOrThrow();
  return {
    ...approval,
    turnEnded: turn.status !== 'queued' && turn.status !== 'running',
    canContinue: Boolean(turn.hasContext),
  };
}

/** True if a card asks for an approval, even if the approval was deleted with its turn. */
export async function isApprovalCard(db: Database, cardMessageId: string): Promise<boolean> {
  const card = await db
    .selectFrom('messages')
    .select('id')
    .where('id', '=', cardMessageId)
    .where('turn_key', 'like', `${APPROVAL_KEY}%`)
    .executeTakeFirst();
  return card !== undefined;
}

export async function decideApproval(
  db: Database,
  cardMessageId: string,
  status: 'approved' | 'denied',
  answer?: QuestionAnswer,
): Promise<void> {
  await db
    .updateTable('tool_approvals')
    .set({ status, decided_at: sql`now()`, answer: answer === undefined ? null : JSON.stringify(answer) })
    .where('card_message_id', '=', cardMessageId)
    .execute();
}

/** Stores which user message tells of a decision that a running turn reads. */
export async function storeDecisionMessage(db: Database, cardMessageId: string, messageId: string): Promise<void> {
  await db
    .updateTable('tool_approvals')
    .set({ decision_message_id: messageId })
    .where('card_message_id', '=', cardMessageId)
    .execute();
}

/**
 * Reads the answer to a question and deletes it.
 *
 * @returns undefined while the question is open; null if it ended without an answer, also with its conversation
 */
export async function takeAnswer(db: Database, cardMessageId: string): Promise<QuestionAnswer | null | undefined> {
  const { rows } = await sql<{ isClosed: boolean; answer: QuestionAnswer | null }>`
    WITH found AS (
      SELECT card_message_id, answer, status <> 'open' OR expires_at <= now() AS "isClosed" FROM tool_approvals
      WHERE card_message_id = ${cardMessageId} FOR UPDATE
    ), emptied AS (
      UPDATE tool_approvals SET answer = NULL WHERE card_message_id IN (SELECT card_message_id FROM found WHERE "isClosed")
    )
    SELECT "isClosed", answer FROM found`.execute(db);
  const { isClosed = true, answer = null } = rows[0] ?? {};
  return isClosed ? answer : undefined;
}

/** Closes a call's open questions: it has ended, or another process executes it again. */
export function closeQuestions(db: Database, turnId: string, callId: string): Promise<ClosedCard[]> {
  return close(
    db,
    'superseded',
    sql`SELECT card_message_id FROM tool_approvals
      WHERE turn_id = ${turnId} AND call_id = ${callId} AND question IS NOT NULL AND status = 'open'`,
  );
}

/** Locks the calls' approvals. @returns true if all calls have an open one */
export async function areApprovalsOpen(db: Database, turnId: string, callIds: readonly string[]): Promise<boolean> {
  const approvals = await db
    .selectFrom('tool_approvals')
    .select('status')
    .where('turn_id', '=', turnId)
    .where('call_id', 'in', [...callIds])
    .where('question', 'is', null)
    .orderBy('card_message_id')
    .forUpdate()
    .execute();
  return approvals.length === callIds.length && approvals.every(({ status }) => status === 'open');
}

/** Denies an open approval. A turn that waits for it can no longer continue. */
export function denyApproval(db: Database, cardMessageId: string): Promise<ClosedCard[]> {
  return close(db, 'denied', sql`${cardMessageId}`);
}

/** For turns that end or disappear: closes open approvals, and approvals for calls that were not executed. */
export function supersedeApprovalsOf(db: Database, { turnIds, messageIds = [] }: EndedTurns): Promise<ClosedCard[]> {
  const messages = sql`ANY(${[...messageIds]}::uuid[])`;
  return close(
    db,
    'superseded',
    sql`SELECT card_message_id FROM tool_approvals WHERE card_message_id = ${messages}
      UNION SELECT card_message_id FROM tool_approvals WHERE turn_id = ANY(${[...turnIds]}::uuid[])
      UNION SELECT card_message_id FROM tool_approvals
        WHERE turn_id IN (SELECT id FROM turns WHERE user_message_id = ${messages} OR resumes_message_id = ${messages})`,
  );
}

/**
 * For calls whose cards are about to be deleted with their approvals: stores an outcome for the turns that continue
 * without them. Call it after `supersedeOf`.
 */
export async function refuseApprovals(db: Database, cardMessageIds: readonly string[], text: string): Promise<void> {
  await insertCalls(sql`
    SELECT a.turn_id, a.call_id, a.tool, ${text}, true, false FROM tool_approvals a
    WHERE a.card_message_id = ANY(${[...cardMessageIds]}::uuid[]) AND a.status = 'superseded' AND a.granted_tokens IS NULL AND a.question IS NULL
      AND ${NOT_EXECUTED}`).execute(db);
}

/** Closes open approvals for replies in a conversation, but not for background turns. */
export function supersedeApprovals(db: Database, conversationId: string): Promise<ClosedCard[]> {
  return close(
    db,
    'superseded',
    sql`SELECT card_message_id FROM tool_approvals a WHERE conversation_id = ${conversationId} AND status = 'open'
      AND ${answersUser('a.turn_id')}`,
  );
}

/** The card of an expired open approval, if there is one. */
export function findExpiredApproval(db: Database): Promise<ClosedCard | undefined> {
  return db
    .selectFrom('tool_approvals as a')
    .innerJoin('messages as m', 'm.id', 'a.card_message_id')
    .select(['m.id as messageId', 'm.workspace_id as workspaceId', 'a.turn_id as turnId'])
    .where('a.status', '=', 'open')
    .where(sql<boolean>`a.expires_at <= now()`)
    .orderBy('a.expires_at')
    .limit(1)
    .executeTakeFirst();
}

/** Closes a card's approval if it has expired, and the others for which its ended turn waits. */
export function expireApproval(db: Database, cardMessageId: string): Promise<ClosedCard[]> {
  return close(
    db,
    'expired',
    sql`SELECT card_message_id FROM tool_approvals
      WHERE card_message_id = ${cardMessageId} AND status = 'open' AND expires_at <= now()`,
  );
}

/** Gives a suspended turn's approvals to the turn that continues it. */
export const moveApprovals = (fromTurnId: string, toTurnId: string): RawBuilder<unknown> => sql`
  UPDATE tool_approvals SET turn_id = ${toTurnId} WHERE turn_id = ${fromTurnId} RETURNING card_message_id, status`;
