import type { Mention } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { insertJobs } from '../platform/jobs/job-store.js';
import { hasOpenApprovals } from '../records/approvals.store.js';
import { appendNewMessages } from '../records/append-new-messages.js';
import { insertTurns, queuedTurnsOf } from '../turns/insert-turns.js';

/** A message of a user without attachments, for one agent. */
export interface GroupedMessage {
  id: string;
  workspaceId: string;
  conversationId: string;
  userId: string;
  agentId: string;
  turnId: string;
  text: string;
  mentions: readonly Mention[];
  /** The title of the conversation, if it has none. */
  title: string | null;
  localId: string | null;
  bodyHash: Buffer;
  /** After this time of the database the message is not stored. */
  deadline: Date;
}

export interface StoredMessage {
  id: string;
  workspace_id: string;
  seq: number;
  created_at: Date;
  updated_at: Date;
}

export interface SendGroupStore {
  /**
   * Stores messages with their turns in one statement and transaction, without waiting for locks. Skips a message if a row
   * that it changes is locked or changes concurrently, if its deadline has passed, or if it needs more than these rows: a
   * suspended runtime, open cards, a full queue, a used `local_id`.
   *
   * @returns the stored messages
   */
  insert(messages: readonly GroupedMessage[], queuedTurns: number): Promise<StoredMessage[]>;
}

/** Without `*`, so that the statement is prepared. */
const COLUMNS = sql`subject_id, workspace_id, conversation_id, user_id, agent_id, turn_id, text, mentions, title, local_id,
  body_hash, deadline, n`;
const COLUMNS_OF_S = sql`s.subject_id, s.workspace_id, s.conversation_id, s.user_id, s.agent_id, s.turn_id, s.text, s.mentions, s.title,
  s.local_id, s.body_hash, s.deadline, s.n`;

export function createSendGroupStore(database: Database): SendGroupStore {
  return {
    async insert(messages, queuedTurns) {
      const column = <Value>(read: (message: GroupedMessage) => Value): Value[] => messages.map(read);
      // Subselects: Postgres then estimates the same number of messages for each group, and keeps one plan.
      const { rows } = await sql<StoredMessage>`
        WITH sends AS (
          SELECT ${COLUMNS} FROM unnest(
            (SELECT ${column(({ id }) => id)}::uuid[]),
            (SELECT ${column(({ workspaceId }) => workspaceId)}::uuid[]),
            (SELECT ${column(({ conversationId }) => conversationId)}::uuid[]),
            (SELECT ${column(({ userId }) => userId)}::uuid[]),
            (SELECT ${column(({ agentId }) => agentId)}::uuid[]),
            (SELECT ${column(({ turnId }) => turnId)}::uuid[]),
            (SELECT ${column(({ text }) => text)}::text[]),
            (SELECT ${column(({ mentions }) => JSON.stringify(mentions))}::jsonb[]),
            (SELECT ${column(({ title }) => title)}::text[]),
            (SELECT ${column(({ localId }) => localId)}::text[]),
            (SELECT ${column(({ bodyHash }) => bodyHash)}::bytea[]),
            (SELECT ${column(({ deadline }) => deadline)}::timestamptz[])
          ) WITH ORDINALITY AS s (${COLUMNS})
        ), free AS MATERIALIZED (
          SELECT ${COLUMNS_OF_S}, w.last_seq, (
            SELECT seen.last_seq FROM workspaces seen WHERE seen.id = s.workspace_id
          ) AS seen_seq
          FROM sends s
          JOIN runtimes r ON r.workspace_id = s.workspace_id AND r.desired = 'running'
          JOIN workspaces w ON w.id = s.workspace_id AND w.owner_id = s.user_id
          JOIN conversations c ON c.id = s.conversation_id AND c.workspace_id = s.workspace_id
          FOR NO KEY UPDATE OF r, w, c SKIP LOCKED
        ), possible AS (
          -- A later last_seq than that of the snapshot: the snapshot may lack turns and messages that count.
          SELECT ${COLUMNS}, row_number() OVER (PARTITION BY conversation_id ORDER BY n) AS nth,
            row_number() OVER (PARTITION BY workspace_id, local_id ORDER BY n) AS nth_use
          FROM free s
          WHERE last_seq = seen_seq AND clock_timestamp() < deadline AND NOT ${hasOpenApprovals(sql`s.conversation_id`)}
            AND (local_id IS NULL OR NOT EXISTS (
              SELECT FROM messages m
              WHERE m.workspace_id = s.workspace_id AND m.sender_id = s.user_id AND m.local_id = s.local_id
            ) AND NOT EXISTS (
              SELECT FROM spent_local_ids u WHERE u.workspace_id = s.workspace_id AND u.sender_id = s.user_id
                AND u.local_id_hash = sha256(convert_to(s.local_id, 'UTF8'))
            ))
        ), ready AS MATERIALIZED (
          SELECT ${COLUMNS} FROM possible s
          WHERE (local_id IS NULL OR nth_use = 1) AND nth + ${queuedTurnsOf(sql`s.conversation_id`)} <= ${queuedTurns}
        ), ${appendNewMessages(sql`ready`)}, moved AS (
          UPDATE conversations c SET updated_at = now(), rev = greatest(c.rev, s.seq), title = coalesce(c.title, s.title),
            title_source = CASE WHEN c.title IS NULL AND s.title IS NOT NULL THEN 'first_message' ELSE c.title_source END
          FROM (
            SELECT r.conversation_id, max(e.seq) AS seq, (array_agg(r.title ORDER BY r.title IS NULL, r.n))[1] AS title
            FROM ready r JOIN appended e ON e.subject_id = r.subject_id
            GROUP BY r.conversation_id
          ) s
          WHERE c.id = s.conversation_id
        ), stored AS (
          INSERT INTO messages (id, workspace_id, conversation_id, seq, rev, role, sender_id, content, status, local_id,
            body_hash, mentions)
          SELECT s.subject_id, s.workspace_id, s.conversation_id, e.seq, e.seq, 'user', s.user_id,
            jsonb_build_object('type', 'text', 'text', s.text), 'sent', s.local_id, s.body_hash, s.mentions
          FROM ready s JOIN appended e ON e.subject_id = s.subject_id
          RETURNING id, workspace_id, seq, created_at, updated_at
        ), turn AS (${insertTurns(sql`ready`)}), job AS (${insertJobs(
          'turn',
          sql`
          SELECT s.turn_id, s.workspace_id, s.conversation_id, e.seq, s.user_id
          FROM ready s JOIN appended e ON e.subject_id = s.subject_id`,
        )})
        SELECT id, workspace_id, seq, created_at, updated_at FROM stored`.execute(database);
      return rows;
    },
  };
}
