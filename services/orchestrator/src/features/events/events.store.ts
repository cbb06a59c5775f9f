import { ApiError, type DurableEventName } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database, Transaction } from '../../database/database.js';
import { listOrder } from '../messages/position.js';
import { STORED_BYTES } from '../messages/stored-bytes.js';

export interface StoredEvent {
  workspaceId: string;
  seq: number;
  type: DurableEventName;
  subjectId: string;
  /** For `message.deleted`: the conversation of the deleted message. */
  conversationId?: string | null;
}

export interface UnpublishedEvent extends StoredEvent {
  /** Seconds since the start of the transaction that stored the event. */
  ageS: number;
}

export interface SizedEvent extends StoredEvent {
  /** Approximate size in bytes of the message in the payload; see `STORED_BYTES`. */
  bytes: number;
}

export interface EventStore {
  /**
   * Stores an event and takes the next seq of the workspace. The row lock is held until the transaction ends, so commit
   * order is seq order without gaps. Call it as late as possible, after all slow work. The relay is notified after the
   * commit.
   *
   * @throws ApiError `workspace_not_found` if the workspace was deleted concurrently
   */
  append(event: Omit<StoredEvent, 'seq'>, tx: Transaction): Promise<number>;
  /** Locks the workspace like `append`, without an event. @throws ApiError `workspace_not_found` */
  lock(workspaceId: string, db: Database): Promise<void>;
  /**
   * Locks up to `workspaces` workspaces with unpublished events against other relays, and returns up to `events` events
   * in seq order. Must run in a transaction.
   */
  takeUnpublished(workspaces: number, events: number, db: Database): Promise<UnpublishedEvent[]>;
  markPublished(events: readonly StoredEvent[], db: Database): Promise<void>;
  /** Returns up to `limit` events of a workspace after `seq`, in order. */
  after(workspaceId: string, seq: number, limit: number, db: Database): Promise<SizedEvent[]>;
  /** Deletes up to `limit` published events older than `before`. @returns the number of deleted events */
  prune(before: Date, limit: number): Promise<number>;
}

export function createEventStore(database: Database, wakeRelay: () => void = () => undefined): EventStore {
  return {
    async append({ workspaceId, type, subjectId, conversationId = null }, tx) {
      const { rows } = await sql<{ seq: number }>`
        WITH counter AS (
          UPDATE workspaces SET last_seq = last_seq + 1 WHERE id = ${workspaceId} RETURNING last_seq
        )
        INSERT INTO workspace_events (workspace_id, seq, type, subject_id, conversation_id)
        SELECT ${workspaceId}, last_seq, ${type}, ${subjectId}, ${conversationId}::uuid FROM counter
        RETURNING seq`.execute(tx);
      const row = rows[0];
      if (row === undefined) throw new ApiError('workspace_not_found');
      tx.afterCommit(wakeRelay);
      return row.seq;
    },

    async lock(workspaceId, db) {
      const { rows } = await sql`SELECT id FROM workspaces WHERE id = ${workspaceId} FOR NO KEY UPDATE`.execute(db);
      if (rows.length === 0) throw new ApiError('workspace_not_found');
    },

    async takeUnpublished(workspaces, events, db) {
      const locked = await sql<{ id: string }>`
        WITH candidates AS MATERIALIZED (
          SELECT DISTINCT workspace_id FROM workspace_events WHERE published_at IS NULL LIMIT ${workspaces}
        )
        SELECT workspace_id AS id FROM candidates
        WHERE pg_try_advisory_xact_lock(hashtextextended(workspace_id::text, 1))`.execute(db);
      if (locked.rows.length === 0) return [];
      // A separate statement: a snapshot from before the lock could contain events that the previous lock holder has
      // published since.
      const { rows } = await sql<UnpublishedEvent>`
        SELECT workspace_id AS "workspaceId", seq, type, subject_id AS "subjectId", conversation_id AS "conversationId",
          extract(epoch FROM clock_timestamp() - created_at)::float8 AS "ageS"
        FROM workspace_events
        WHERE published_at IS NULL AND workspace_id = ANY(${locked.rows.map(({ id }) => id)}::uuid[])
        ORDER BY workspace_id, seq
        LIMIT ${events}`.execute(db);
      return rows;
    },

    async after(workspaceId, seq, limit, db) {
      const { rows } = await sql<SizedEvent>`
        SELECT e.workspace_id AS "workspaceId", e.seq, e.type, e.subject_id AS "subjectId", e.conversation_id AS "conversationId", coalesce(CASE
          WHEN e.type IN ('message.new', 'message.updated') THEN (
            SELECT ${STORED_BYTES} FROM messages m WHERE m.id = e.subject_id)
          WHEN e.type IN ('conversation.new', 'conversation.updated') THEN (
            SELECT ${STORED_BYTES} FROM messages m WHERE m.conversation_id = e.subject_id
            ORDER BY ${listOrder('older')} LIMIT 1)
          WHEN e.type = 'workspace.updated' THEN (
            SELECT ${STORED_BYTES} FROM messages m WHERE m.workspace_id = e.subject_id ORDER BY m.seq DESC LIMIT 1)
        END, 0) AS bytes
        FROM workspace_events e
        WHERE e.workspace_id = ${workspaceId} AND e.seq > ${seq}
        ORDER BY e.seq LIMIT ${limit}`.execute(db);
      return rows;
    },

    async prune(before, limit) {
      const { rows } = await sql<{ removed: number }>`
        WITH old AS (
          SELECT workspace_id, seq FROM workspace_events
          WHERE created_at < ${before} AND published_at IS NOT NULL
          ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ), removed AS (
          DELETE FROM workspace_events e USING old WHERE e.workspace_id = old.workspace_id AND e.seq = old.seq RETURNING 1
        )
        SELECT count(*) AS removed FROM removed`.execute(database);
      return rows[0]?.removed ?? 0;
    },

    async markPublished(events, db) {
      if (events.length === 0) return;
      await sql`
        UPDATE workspace_events e SET published_at = now()
        FROM unnest(${events.map(({ workspaceId }) => workspaceId)}::uuid[], ${events.map(({ seq }) => seq)}::bigint[])
          AS done (workspace_id, seq)
        WHERE e.workspace_id = done.workspace_id AND e.seq = done.seq`.execute(db);
    },
  };
}
