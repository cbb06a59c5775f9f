import { randomUUIDv7 } from 'node:crypto';
import { LIMITS, type Mention } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { insertJobs } from '../platform/jobs/job-queue.js';
import { appendNewMessages } from '../records/event-rows.js';
import { hasOpenApprovals } from '../records/approvals.store.js';
import { ownColumns } from '../records/messages.store.js';
import { TURN_JOB } from '../records/turn-job.js';
import { insertTurns, queuedTurnsOf } from '../records/turn-rows.js';
import { nextTurnId } from '../turns/turn-ids.js';
import type { StoredAttachment } from '../workspaces/uploads/attachments.js';
import type { MessageRow } from './message-view.js';
import { touchConversations } from '../records/conversation-rows.js';
import { insertUserMessages } from '../records/message-rows.js';

/** A checked message. */
export interface UserMessage {
  workspaceId: string;
  conversationId: string;
  userId: string;
  /** The agents that answer, in this order. Without one, a running turn reads the message itself. */
  agentIds: readonly string[];
  text: string;
  /** For a conversation that has none. */
  title?: string | undefined;
  mentions?: readonly Mention[];
  attachments?: readonly StoredAttachment[];
  localId?: string | undefined;
  bodyHash?: Buffer;
  /** True if it reaches an agent that works on an earlier message. */
  steers?: boolean;
  /** The span of its request. */
  traceparent?: string | undefined;
}

export interface StoredUserMessage {
  row: MessageRow;
  /** In the order of `agentIds`. */
  turnIds: readonly string[];
  /** Seconds since its transaction began. */
  ageS: number;
}

interface Item {
  message: UserMessage;
  /** After this database time, the message is not stored. */
  deadline?: Date;
}

/** Without `*`, so that the statement is prepared. */
const COLUMNS = sql`subject_id, workspace_id, conversation_id, user_id, text, mentions, attachments, title, local_id, body_hash, turns,
  deadline, steers, traceparent, n`;

const localIdIsUsed = (
  workspaceId: RawBuilder<unknown>,
  userId: RawBuilder<unknown>,
  localId: RawBuilder<unknown>,
) => sql<boolean>`(
  EXISTS (SELECT FROM messages m WHERE m.workspace_id = ${workspaceId} AND m.sender_id = ${userId} AND m.local_id = ${localId})
  OR EXISTS (
    SELECT FROM spent_local_ids u WHERE u.workspace_id = ${workspaceId} AND u.sender_id = ${userId}
      AND u.local_id_hash = sha256(convert_to(${localId}, 'UTF8'))
  )
)`;

/** Rows of `sends` that the statement itself locks, without waiting. */
const UNLOCKED = sql`
  free AS MATERIALIZED (
    SELECT s.subject_id, s.workspace_id, s.conversation_id, s.user_id, s.text, s.mentions, s.attachments, s.title, s.local_id,
      s.body_hash, s.turns, s.deadline, s.steers, s.traceparent, s.n, w.last_seq, (
        SELECT seen.last_seq FROM workspaces seen WHERE seen.id = s.workspace_id
      ) AS seen_seq
    FROM sends s
    JOIN runtimes r ON r.workspace_id = s.workspace_id AND r.desired = 'running'
    JOIN workspaces w ON w.id = s.workspace_id AND w.owner_id = s.user_id
    JOIN conversations c ON c.id = s.conversation_id AND c.workspace_id = s.workspace_id
    FOR NO KEY UPDATE OF r, w, c SKIP LOCKED
  ), candidates AS (
    -- A later last_seq than that of the snapshot: the snapshot may lack turns and messages that count.
    SELECT ${COLUMNS} FROM free s
    WHERE last_seq = seen_seq AND clock_timestamp() < deadline AND NOT ${hasOpenApprovals(sql`s.conversation_id`)}
  )`;
/** The transaction has locked the runtime and the workspace before. */
const LOCKED = sql`candidates AS (SELECT ${COLUMNS} FROM sends)`;

/** The one statement that stores a user's messages, each with its event and the turns that answer it. */
async function insert(
  db: Database,
  items: readonly Item[],
  candidates: RawBuilder<unknown>,
): Promise<(StoredUserMessage | undefined)[]> {
  const sends = items.map(({ message, deadline = null }) => ({
    ...message,
    id: randomUUIDv7(),
    turns: message.agentIds.map((agentId) => ({ id: nextTurnId(), agentId })),
    deadline,
  }));
  const column = <Value>(read: (send: (typeof sends)[number]) => Value): Value[] => sends.map(read);
  const turns = sends.flatMap((send) => send.turns.map((turn) => ({ ...turn, messageId: send.id })));
  // Subselects: Postgres then estimates the same number of messages for each group, and keeps one plan.
  const { rows } = await sql<MessageRow & { age_s: number }>`
    WITH sends AS (
      SELECT ${COLUMNS} FROM unnest(
        (SELECT ${column(({ id }) => id)}::uuid[]),
        (SELECT ${column(({ workspaceId }) => workspaceId)}::uuid[]),
        (SELECT ${column(({ conversationId }) => conversationId)}::uuid[]),
        (SELECT ${column(({ userId }) => userId)}::uuid[]),
        (SELECT ${column(({ text }) => text)}::text[]),
        (SELECT ${column(({ mentions = [] }) => JSON.stringify(mentions))}::jsonb[]),
        (SELECT ${column(({ attachments = [] }) => JSON.stringify(attachments))}::jsonb[]),
        (SELECT ${column(({ title = null }) => title)}::text[]),
        (SELECT ${column(({ localId = null }) => localId)}::text[]),
        (SELECT ${column(({ bodyHash = null }) => bodyHash)}::bytea[]),
        (SELECT ${column(({ agentIds }) => agentIds.length)}::int[]),
        (SELECT ${column(({ deadline }) => deadline)}::timestamptz[]),
        (SELECT ${column(({ steers = false }) => steers)}::boolean[]),
        (SELECT ${column(({ traceparent = null }) => traceparent)}::text[])
      ) WITH ORDINALITY AS s (${COLUMNS})
    ), ${candidates}, possible AS (
      SELECT ${COLUMNS}, row_number() OVER (PARTITION BY workspace_id, local_id ORDER BY n) AS nth_use,
        sum(turns) OVER (PARTITION BY conversation_id ORDER BY n) AS more_turns
      FROM candidates s
      WHERE local_id IS NULL OR NOT ${localIdIsUsed(sql`s.workspace_id`, sql`s.user_id`, sql`s.local_id`)}
    ), ready AS MATERIALIZED (
      SELECT ${COLUMNS} FROM possible s
      WHERE (local_id IS NULL OR nth_use = 1)
        AND (turns = 0 OR more_turns + ${queuedTurnsOf(sql`s.conversation_id`)} <= ${LIMITS.queuedTurns})
    ), ${appendNewMessages(sql`ready`)}, moved AS (
      ${touchConversations(sql`(
        SELECT r.conversation_id, max(e.seq) AS seq, (array_agg(r.title ORDER BY r.title IS NULL, r.n))[1] AS title
        FROM ready r JOIN appended e ON e.subject_id = r.subject_id
        GROUP BY r.conversation_id
      )`)}
    ), m AS (
      ${insertUserMessages(sql`
        SELECT s.subject_id, s.workspace_id, s.conversation_id, e.seq, e.seq, 'user', s.user_id,
          jsonb_build_object('type', 'text', 'text', s.text), CASE WHEN s.turns = 0 THEN 'read' ELSE 'sent' END, s.local_id,
          s.body_hash, s.mentions, s.attachments
        FROM ready s JOIN appended e ON e.subject_id = s.subject_id`)}
      RETURNING id, workspace_id, conversation_id, seq, rev, before_seq, error_code, role, content, status, local_id, mentions,
        attachments, created_at, updated_at, edited_at, agent_id, answer_turn_id, in_reply_to, answered_with, schedule_id,
        trigger_id
    ), queued AS (
      SELECT t.turn_id, t.agent_id, s.workspace_id, s.conversation_id, s.user_id, s.subject_id, s.steers,
        s.traceparent
      FROM ready s JOIN unnest(
        (SELECT ${turns.map(({ messageId }) => messageId)}::uuid[]),
        (SELECT ${turns.map(({ id }) => id)}::uuid[]),
        (SELECT ${turns.map(({ agentId }) => agentId)}::uuid[])
      ) AS t (subject_id, turn_id, agent_id) ON t.subject_id = s.subject_id
    ), turn AS (${insertTurns(sql`queued`)}), job AS (${insertJobs(
      TURN_JOB,
      sql`
      SELECT q.turn_id, q.workspace_id, q.conversation_id, e.seq, q.user_id
      FROM queued q JOIN appended e ON e.subject_id = q.subject_id`,
    )})
    SELECT ${ownColumns(sql`m.content`)}, extract(epoch FROM clock_timestamp() - m.created_at)::float8 AS age_s,
      NULL AS agent_name, NULL AS agent_role, NULL AS agent_kind, NULL AS agent_slug, NULL AS agent_avatar, NULL AS agent_activity,
      NULL AS runtime_phase, NULL AS runtime_silent_since
    FROM m`.execute(db);
  const byId = new Map(rows.map(({ age_s: ageS, ...row }) => [row.id, { row, ageS }]));
  return sends.map((send) => {
    const stored = byId.get(send.id);
    return stored && { ...stored, turnIds: send.turns.map(({ id }) => id) };
  });
}

/**
 * Stores messages in one transaction, without waiting for locks. Skips a message if a row that it changes is locked or
 * changes concurrently, if its deadline has passed, or if it needs more than these rows: a suspended runtime, open cards, a
 * full queue, a used `local_id`.
 */
export const insertUnlocked = (db: Database, items: readonly Required<Item>[]) => insert(db, items, UNLOCKED);

/**
 * The transaction has locked the runtime and the workspace, so that concurrent sends cannot change what the statement
 * counts.
 *
 * @returns undefined if the `local_id` is used or the queue is full
 */
export async function insertLocked(db: Database, message: UserMessage): Promise<StoredUserMessage | undefined> {
  return (await insert(db, [{ message }], LOCKED))[0];
}

export async function isLocalIdUsed(db: Database, { workspaceId, userId, localId }: UserMessage): Promise<boolean> {
  if (localId === undefined) return false;
  const { rows } = await sql<{ used: boolean }>`
    SELECT ${localIdIsUsed(sql`${workspaceId}`, sql`${userId}`, sql`${localId}`)} AS used`.execute(db);
  return rows[0]?.used === true;
}
