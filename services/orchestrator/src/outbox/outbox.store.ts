import { sql } from 'kysely';
import type { Database } from '../database/database.js';
import { extendedLeases, type HeldLease } from '../jobs/job-store.js';
import type { CommittedEvent } from '../features/events/events.store.js';

/** The number of shards of the outbox, as in its migration. */
export const SHARDS = 64;

/** The waiting events of a workspace, or the first part of them. */
export interface WaitingEvents {
  workspaceId: string;
  /** In order; empty if the log no longer has them. */
  events: CommittedEvent[];
  /** The last event that waits. */
  uptoSeq: number;
}

/** Published events of a workspace: all from `fromSeq` to `uptoSeq`. */
export interface PublishedRange {
  workspaceId: string;
  fromSeq: number;
  uptoSeq: number;
  /** Time of the last one. */
  at: Date;
}

export interface OutboxLimits {
  workspaces: number;
  /** Maximum number of events per workspace. */
  events: number;
}

export interface Advanced {
  /** The workspaces with published events that stay: their row is locked, or events before them wait. */
  staying: Set<string>;
  /** Without those that were published. */
  due: WaitingEvents[];
}

export interface Announced {
  /** The ids of all running relays, in order. */
  running: string[];
  /** The ids of the leases that are held. */
  held: string[];
}

export interface OutboxStore {
  /**
   * Removes published events from the outbox, makes the rest due after all others, and reads events of these shards whose own
   * process had the time to publish them, the longest waiting first. Never waits for a transaction.
   */
  advance(published: readonly PublishedRange[], shards: readonly number[], limits: OutboxLimits): Promise<Advanced>;
  /** Records that the relay runs, and extends leases of its process: see `JobStore.extend`. */
  announce(relayId: string, expiryMs: number, leases: readonly HeldLease[]): Promise<Announced>;
  leave(relayId: string): Promise<void>;
}

interface AdvancedRow extends Omit<CommittedEvent, 'seq' | 'conversationId'> {
  conversationId: string | null;
  /** Whether this row only reports that published events of the workspace stay. */
  stays: boolean;
  /** Null if the log no longer has the events. */
  seq: number | null;
  uptoSeq: number;
}

const eventOf = ({
  seq,
  type,
  subjectId,
  conversationId,
  workspaceId,
  createdAt,
  ageS,
}: AdvancedRow): CommittedEvent[] =>
  seq === null ? [] : [{ workspaceId, seq, type, subjectId, conversationId, createdAt, ageS }];

export function createOutboxStore(database: Database): OutboxStore {
  return {
    async advance(published, shards, { workspaces, events }) {
      const { rows } = await sql<AdvancedRow>`
        WITH published AS (
          SELECT * FROM unnest(
            ${published.map(({ workspaceId }) => workspaceId)}::uuid[], ${published.map(({ fromSeq }) => fromSeq)}::bigint[],
            ${published.map(({ uptoSeq }) => uptoSeq)}::bigint[], ${published.map(({ at }) => at)}::timestamptz[]
          ) AS p (workspace_id, from_seq, upto_seq, at)
        ), unfinished AS (
          SELECT o.workspace_id, o.from_seq >= p.from_seq AS is_first
          FROM event_outbox o JOIN published p ON p.workspace_id = o.workspace_id AND o.from_seq <= p.upto_seq
        ), held AS (
          SELECT o.workspace_id, o.upto_seq <= p.upto_seq AS done, p.upto_seq + 1 AS next_seq, p.at
          FROM event_outbox o JOIN published p ON p.workspace_id = o.workspace_id AND o.from_seq BETWEEN p.from_seq AND p.upto_seq
          FOR UPDATE OF o SKIP LOCKED
        ), removed AS (
          DELETE FROM event_outbox o USING held h WHERE o.workspace_id = h.workspace_id AND h.done
        ), moved AS (
          -- The rest of events that are not due is published by their own process.
          UPDATE event_outbox o SET from_seq = h.next_seq, since = greatest(o.since, h.at),
            due_at = CASE WHEN o.due_at > now() THEN now() + interval '2 seconds' ELSE now() END
          FROM held h WHERE o.workspace_id = h.workspace_id AND NOT h.done
        ), due AS MATERIALIZED (
          -- Reads the rows as they were before this statement.
          SELECT o.workspace_id, coalesce(h.next_seq, o.from_seq) AS from_seq, o.upto_seq,
            coalesce(greatest(o.since, h.at), o.since) AS since, o.due_at, h.done IS NOT NULL AS has_moved
          FROM event_outbox o LEFT JOIN held h ON h.workspace_id = o.workspace_id
          WHERE o.shard = ANY(${[...shards]}::smallint[]) AND o.due_at <= now() AND h.done IS NOT TRUE
          ORDER BY has_moved, o.due_at LIMIT ${workspaces}
        ), waiting AS (
          SELECT d.workspace_id, d.upto_seq, e.seq, e.type, e.subject_id, e.conversation_id, e.created_at,
            extract(epoch FROM clock_timestamp() - e.created_at)::float8 AS age_s,
            row_number() OVER (ORDER BY d.has_moved, d.due_at, d.workspace_id, e.seq) AS place
          FROM due d LEFT JOIN LATERAL (
            SELECT * FROM workspace_events w
            WHERE w.workspace_id = d.workspace_id AND w.seq BETWEEN d.from_seq AND d.upto_seq
              AND w.day >= (d.since AT TIME ZONE 'UTC')::date - 1
            ORDER BY w.seq LIMIT ${events}
          ) e ON true
        )
        SELECT workspace_id AS "workspaceId", false AS stays, upto_seq AS "uptoSeq", seq, type, subject_id AS "subjectId",
          conversation_id AS "conversationId", created_at AS "createdAt", age_s AS "ageS", place
        FROM waiting
        UNION ALL
        SELECT workspace_id, true, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0 FROM unfinished
        WHERE NOT is_first OR workspace_id NOT IN (SELECT workspace_id FROM held)
        ORDER BY place`.execute(database);
      const ofWorkspaces = Map.groupBy(
        rows.filter(({ stays }) => !stays),
        ({ workspaceId }) => workspaceId,
      );
      return {
        staying: new Set(rows.flatMap(({ workspaceId, stays }) => (stays ? [workspaceId] : []))),
        due: Array.from(ofWorkspaces, ([workspaceId, waiting]) => ({
          workspaceId,
          uptoSeq: waiting[0]?.uptoSeq ?? 0,
          events: waiting.flatMap(eventOf),
        })),
      };
    },

    async announce(relayId, expiryMs, leases) {
      const running = sql`now() - ${expiryMs} * interval '1 millisecond'`;
      const { rows } = await sql<Announced>`
        WITH gone AS (
          DELETE FROM relays WHERE id IN (SELECT id FROM relays WHERE seen_at < ${running} FOR UPDATE SKIP LOCKED)
        ), announced AS (
          INSERT INTO relays (id) VALUES (${relayId}) ON CONFLICT (id) DO UPDATE SET seen_at = now() RETURNING id
        ), running AS (
          SELECT id FROM announced UNION SELECT id FROM relays WHERE seen_at >= ${running}
        ), ${extendedLeases(leases)}
        SELECT ARRAY(SELECT id::text FROM running ORDER BY id) AS running,
          ARRAY(SELECT lease_id::text FROM held_leases) AS held`.execute(database);
      return rows[0] ?? { running: [], held: [] };
    },

    async leave(relayId) {
      await database.deleteFrom('relays').where('id', '=', relayId).execute();
    },
  };
}
