import { ApiError, type DurableEventName, type MessageStatus } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../platform/database/database.js';
import { reviseConversationOfMessage, touchConversation } from './conversation-rows.js';
import { insertEvents, queueTaken } from './event-rows.js';
import {
  type AddedMessage,
  changedColumns,
  insertMessage,
  type MessageChange,
  replaceLoadingReply,
  reviseMessage,
} from './message-rows.js';
import { takeSeqs } from './workspace-rows.js';
import { STORED_BYTES } from './stored-bytes.js';
import { revisedRows, workspaceRev } from './revisions.js';
import { takeLoadingReply } from './turn-rows.js';

export interface StoredEvent {
  workspaceId: string;
  seq: number;
  type: DurableEventName;
  subjectId: string;
  /** Set for `message.deleted`. */
  conversationId?: string | null;
  createdAt: Date;
}

export type NewEvent = Omit<StoredEvent, 'seq' | 'createdAt'>;

/** Replaces a reply. */
export type PlacedMessage = Omit<AddedMessage, 'role' | 'status' | 'beforeSeq' | 'turn' | 'turnId'> &
  Required<Pick<AddedMessage, 'turn'>>;

export interface Placement {
  id: string;
  seq: number;
  /** True if the loading reply has become this message, so the turn has no reply now. */
  isReply: boolean;
}

export interface ChangedMessage {
  workspaceId: string;
  id: string;
  change: Omit<MessageChange, 'shownSeq'>;
  isShown?: boolean;
  /** Only messages with these statuses change. Default: all. */
  from?: readonly MessageStatus[];
  types: readonly ('message.updated' | 'message.done')[];
}

/** Stored by this process. */
export interface CommittedEvent extends StoredEvent {
  /** Seconds since the transaction that stored the event began. */
  ageS: number;
}

export interface SizedEvent extends StoredEvent {
  /** The message's approximate size in the payload; see `STORED_BYTES`. Other payloads are small. */
  bytes: number;
}

export interface EventLog {
  /**
   * Stores an event, takes the workspace's next seq, and sets it as `rev` on what the event changes. The row lock is
   * held until the transaction ends, so commit order is seq order without gaps. Call it as late as possible, after all
   * slow work. The event is reported to `onCommitted` after the commit.
   *
   * @throws ApiError `workspace_not_found` if the workspace was deleted concurrently
   */
  append(event: NewEvent, tx: Transaction): Promise<number>;
  /**
   * Stores a message and its event `message.new` in one statement, as `append` does. Moves the conversation to the
   * list's front.
   *
   * @returns the message's seq
   * @throws ApiError `workspace_not_found`
   */
  addMessage(message: AddedMessage, tx: Transaction): Promise<number>;
  /**
   * Shows a delivered agent message in place of a loading reply, which has no text and waits now: clients that know no
   * deletions would show it forever. Without a loading reply it is added, as by `addMessage`.
   *
   * @throws ApiError `workspace_not_found`
   */
  placeMessage(message: PlacedMessage, tx: Transaction): Promise<Placement>;
  /**
   * Changes a message and stores its events in one statement, as `append` does.
   *
   * @returns each event's seq; undefined if the message has no status in `from`, or was written by the app
   */
  changeMessage(message: ChangedMessage, tx: Transaction): Promise<number[] | undefined>;
  /** Reports an event that another statement has stored, as `append` does. */
  reportLater(event: NewEvent, appended: AppendedEvent, tx: Transaction): void;
  /** Locks the workspace like `append`, without an event. @throws ApiError `workspace_not_found` */
  lock(workspaceId: string, db: Database): Promise<void>;
  /** Returns up to `limit` events after `seq`, in order. */
  after(workspaceId: string, seq: number, limit: number, db: Database): Promise<SizedEvent[]>;
  createPartitions(daysAhead: number): Promise<void>;
  /** Drops partitions that end before a day, unless they have unpublished events. @returns the number of partitions */
  dropPartitions(before: Date): Promise<number>;
}

interface AppendedEvent {
  seq: number;
  createdAt: Date;
  ageS: number;
}

const APPENDED = sql`
  seq, created_at AS "createdAt", extract(epoch FROM clock_timestamp() - created_at)::float8 AS "ageS"`;

/** @param onCommitted called for each event after its commit */
export function createEventLog(
  database: Database,
  onCommitted: (event: CommittedEvent) => void = () => undefined,
): EventLog {
  function reportLater(event: NewEvent, { seq, createdAt, ageS }: AppendedEvent, tx: Transaction): void {
    const storedAt = performance.now();
    tx.afterCommit(() =>
      onCommitted({ ...event, seq, createdAt, ageS: ageS + (performance.now() - storedAt) / 1_000 }),
    );
  }

  /** @param changedRows CTEs for the rows that the event is about, after the CTE `counter` */
  async function insert(event: NewEvent, changedRows: RawBuilder<unknown>, tx: Transaction): Promise<number> {
    const { workspaceId, type, subjectId, conversationId = null } = event;
    const { rows } = await sql<AppendedEvent>`
      WITH counter AS (${takeSeqs(workspaceId, 1, { rev: workspaceRev(type) })})${changedRows}, waiting AS (
        ${queueTaken(workspaceId, 1)}
      )
      ${insertEvents(sql`
        SELECT ${workspaceId}::uuid, last_seq, ${type}, ${subjectId}::uuid, ${conversationId}::uuid, now() FROM counter`)}
      RETURNING ${APPENDED}`.execute(tx);
    const [row] = rows;
    if (row === undefined) throw new ApiError('workspace_not_found');
    reportLater(event, row, tx);
    return row.seq;
  }

  return {
    append: (event, tx) => insert(event, revisedRows({ conversationId: null, ...event }), tx),

    addMessage(message, tx) {
      const rows = sql`, moved AS (${touchConversation(message.conversationId)}), message AS (${insertMessage(message)})`;
      return insert({ workspaceId: message.workspaceId, type: 'message.new', subjectId: message.id }, rows, tx);
    },

    async placeMessage({ turn, ...message }, tx) {
      const { workspaceId, id, conversationId, content } = message;
      const added = { ...message, turn, role: 'agent', status: 'delivered' } as const;
      const { rows } = await sql<AppendedEvent & { type: 'message.new' | 'message.updated'; id: string }>`
        WITH counter AS (${takeSeqs(workspaceId, 1)}), reply AS (${takeLoadingReply(turn.id)}), moved AS (
          ${touchConversation(conversationId, sql`NOT EXISTS (SELECT FROM reply)`)}
        ), placed AS (${replaceLoadingReply(turn, content)}), added AS (
          ${insertMessage(added, sql`NOT EXISTS (SELECT FROM reply)`)}
        ), waiting AS (
          ${queueTaken(workspaceId, 1)}
        )
        ${insertEvents(sql`
          SELECT ${workspaceId}::uuid, last_seq, CASE WHEN reply.id IS NULL THEN 'message.new' ELSE 'message.updated' END,
            coalesce(reply.id, ${id}::uuid), NULL::uuid, now()
          FROM counter LEFT JOIN reply ON true`)}
        RETURNING ${APPENDED}, type, subject_id AS id`.execute(tx);
      const [row] = rows;
      if (row === undefined) throw new ApiError('workspace_not_found');
      reportLater({ workspaceId, type: row.type, subjectId: row.id }, row, tx);
      return { id: row.id, seq: row.seq, isReply: row.type === 'message.updated' };
    },

    async changeMessage({ workspaceId, id, change, isShown = false, from, types }, tx) {
      const count = sql.lit(types.length);
      const isDue = from ? sql`m.role <> 'system' AND m.status = ANY(${[...from]}::text[])` : sql`true`;
      const condition = from ? sql`AND EXISTS (SELECT FROM messages m WHERE m.id = ${id} AND ${isDue})` : sql``;
      const columns = [
        ...(isShown ? [sql`shown_seq = counter.last_seq - ${count} + 1`] : []),
        ...changedColumns(change),
      ];
      const { rows } = await sql<AppendedEvent>`
        WITH counter AS (${takeSeqs(workspaceId, types.length, { condition })}),
          revised_message AS (${reviseMessage(id, columns, isDue)}),
          revised_conversation AS (${reviseConversationOfMessage}), waiting AS (
            ${queueTaken(workspaceId, types.length)}
          )
        ${insertEvents(sql`
          SELECT ${workspaceId}::uuid, counter.last_seq - ${count} + t.n, t.type, ${id}::uuid, NULL::uuid, now()
          FROM counter, unnest(${[...types]}::text[]) WITH ORDINALITY AS t (type, n) ORDER BY t.n`)}
        RETURNING ${APPENDED}`.execute(tx);
      if (rows.length === 0 && from === undefined) throw new ApiError('workspace_not_found');
      for (const [index, row] of rows.entries()) {
        const type = types[index] ?? 'message.updated';
        reportLater({ workspaceId, type, subjectId: id }, row, tx);
      }
      return rows.length === 0 ? undefined : rows.map(({ seq }) => seq);
    },

    reportLater,

    async lock(workspaceId, db) {
      const { rows } = await sql`SELECT id FROM workspaces WHERE id = ${workspaceId} FOR NO KEY UPDATE`.execute(db);
      if (rows.length === 0) throw new ApiError('workspace_not_found');
    },

    async after(workspaceId, seq, limit, db) {
      const { rows } = await sql<SizedEvent>`
        SELECT e.workspace_id AS "workspaceId", e.seq, e.type, e.subject_id AS "subjectId", e.conversation_id AS "conversationId",
          e.created_at AS "createdAt", coalesce(CASE
          WHEN e.type IN ('message.new', 'message.updated') THEN (
            SELECT ${STORED_BYTES} FROM messages m WHERE m.id = e.subject_id)
        END, 0) AS bytes
        FROM workspace_events e
        WHERE e.workspace_id = ${workspaceId} AND e.seq > ${seq}
        ORDER BY e.seq LIMIT ${limit}`.execute(db);
      return rows;
    },

    async createPartitions(daysAhead) {
      await sql`SELECT create_event_partitions(${daysAhead})`.execute(database);
    },

    async dropPartitions(before) {
      const day = before.toISOString().slice(0, 10);
      const { rows } = await sql<{ dropped: number }>`SELECT drop_event_partitions(${day}::date) AS dropped`.execute(
        database,
      );
      return rows[0]?.dropped ?? 0;
    },
  };
}
