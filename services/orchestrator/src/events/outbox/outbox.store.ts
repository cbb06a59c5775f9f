import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { extendedLeases, type HeldLease } from '../../platform/jobs/job-queue.js';
import type { CommittedEvent } from '../../records/event-log.js';
import { advancePublished, deletePublished } from '../../records/event-rows.js';

/** The number of outbox shards, as in the migration. */
export const SHARDS = 64;

/** A workspace's waiting events, or the first part of them. */
export interface WaitingEvents {
  workspaceId: string;
  /** In order; empty if the log no longer has them. */
  events: CommittedEvent[];
  /** The last event that waits. */
  uptoSeq: number;
}

/** All of a workspace's events from `fromSeq` to `uptoSeq` are published. */
export interface PublishedRange {
  workspaceId: string;
  fromSeq: number;
  uptoSeq: number;
  /** Time of the last event. */
  at: Date;
}

export interface OutboxLimits {
  workspaces: number;
  /** Maximum events per workspace. */
  events: number;
}

export interface Announced {
  /** The ids of all running relays, in order. */
  running: string[];
  /** Held lease ids. */
  held: string[];
}

interface DueRow extends Omit<CommittedEvent, 'seq'> {
  /** Null if the log no longer has the events. */
  seq: number | null;
  uptoSeq: number;
}

/** Reads events in these shards whose own process had the time to publish them, the longest waiting first. */
export async function findDueEvents(
  db: Database,
  shards: readonly number[],
  { workspaces, events }: OutboxLimits,
): Promise<WaitingEvents[]> {
  const { rows } = await sql<DueRow>`
    WITH due AS MATERIALIZED (
      SELECT workspace_id, from_seq, upto_seq, since, due_at FROM event_outbox
      WHERE shard = ANY(${[...shards]}::smallint[]) AND due_at <= now()
      ORDER BY due_at LIMIT ${workspaces}
    )
    SELECT d.workspace_id AS "workspaceId", d.upto_seq AS "uptoSeq", e.seq, e.type, e.subject_id AS "subjectId",
      e.conversation_id AS "conversationId", e.created_at AS "createdAt",
      extract(epoch FROM clock_timestamp() - e.created_at)::float8 AS "ageS"
    FROM due d LEFT JOIN LATERAL (
      SELECT * FROM workspace_events w
      WHERE w.workspace_id = d.workspace_id AND w.seq BETWEEN d.from_seq AND d.upto_seq
        AND w.day >= (d.since AT TIME ZONE 'UTC')::date - 1
      ORDER BY w.seq LIMIT ${events}
    ) e ON true
    ORDER BY d.due_at, d.workspace_id, e.seq`.execute(db);
  return Array.from(
    Map.groupBy(rows, ({ workspaceId }) => workspaceId),
    ([workspaceId, waiting]) => ({
      workspaceId,
      uptoSeq: waiting[0]?.uptoSeq ?? 0,
      events: waiting.flatMap(({ uptoSeq: _, ...event }) => (event.seq === null ? [] : [event as CommittedEvent])),
    }),
  );
}

/**
 * Removes published events from the outbox, and makes the rest due after all others. Never waits for a transaction.
 * @returns workspaces whose published events stay: their row is locked, or events before them wait
 */
export async function advanceOutbox(db: Database, published: readonly PublishedRange[]): Promise<Set<string>> {
  if (published.length === 0) return new Set();
  const { rows } = await sql<{ id: string }>`
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
      ${deletePublished}
    ), moved AS (
      ${advancePublished}
    )
    SELECT workspace_id AS id FROM unfinished
    WHERE NOT is_first OR workspace_id NOT IN (SELECT workspace_id FROM held)`.execute(db);
  return new Set(rows.map(({ id }) => id));
}

/** Records that the relay runs, and extends its process's leases: see `JobQueue.extend`. */
export async function announceRelay(
  db: Database,
  relayId: string,
  expiryMs: number,
  leases: readonly HeldLease[],
): Promise<Announced> {
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
      ARRAY(SELECT lease_id::text FROM held_leases) AS held`.execute(db);
  return rows[0] ?? { running: [], held: [] };
}

export async function removeRelay(db: Database, relayId: string): Promise<void> {
  await db.deleteFrom('relays').where('id', '=', relayId).execute();
}
