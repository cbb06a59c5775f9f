import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { InternalPhase } from '../platform/database/schema.js';
import { SUSPENDED_BY_OPERATOR, UNREACHABLE_AFTER_MS } from '../records/runtime-state.js';
import { TURN_JOB } from '../records/turn-job.js';

/** `held`: an operator suspended the runtime. */
export const TURN_STATES = ['queued', 'held', 'running'] as const;
export type TurnState = (typeof TURN_STATES)[number];

/** Waiting turns, jobs and events in Postgres. Ages are in seconds. */
export interface Backlog {
  turns: { state: TurnState; count: number; oldestAgeS: number }[];
  jobs: { kind: string; due: number; leased: number; oldestDueAgeS: number }[];
  events: { unpublished: number; oldestAgeS: number };
  /** `unreachable`: the platform finds the runtime ready, but it has not responded for 30 s. */
  runtimes: { phase: InternalPhase; count: number; unreachable: number }[];
}

export async function readBacklog(db: Database, kinds: readonly string[]): Promise<Backlog> {
  // Sequential, so that a scrape uses one pool connection.
  const turns = await readTurns(db);
  const jobs = await readJobs(db, kinds);
  const events = await readEvents(db);
  const runtimes = await readRuntimes(db);
  return { turns, jobs, events, runtimes };
}

/** Reads turns by their jobs, which exist until the turn ends. Turns behind an earlier turn do not count as old. */
async function readTurns(database: Database): Promise<Backlog['turns']> {
  const { rows } = await sql<Backlog['turns'][number]>`
    SELECT state, count(*), coalesce(max(age) FILTER (WHERE NOT behind), 0)::float8 AS "oldestAgeS"
    FROM (
      SELECT
        CASE
          WHEN t.status = 'running' THEN 'running'
          WHEN r.phase = 'Suspended' AND r.reason = ${SUSPENDED_BY_OPERATOR} THEN 'held'
          ELSE 'queued'
        END AS state,
        extract(epoch FROM now() - t.created_at) AS age,
        EXISTS (
          SELECT 1 FROM work earlier
          WHERE earlier.kind = w.kind AND earlier.serial_key = w.serial_key AND earlier.ordinal < w.ordinal
        ) AS behind
      FROM work w
      JOIN turns t ON t.id = w.subject_id
      LEFT JOIN runtimes r ON r.workspace_id = w.workspace_id
      WHERE w.kind = ${TURN_JOB}
    ) AS waiting
    GROUP BY state`.execute(database);
  return rows;
}

/** Reads only due jobs: most rows are not due. */
async function readJobs(database: Database, kinds: readonly string[]): Promise<Backlog['jobs']> {
  const { rows } = await sql<Backlog['jobs'][number]>`
    SELECT kind, count(*) FILTER (WHERE NOT leased) AS due, count(*) FILTER (WHERE leased) AS leased,
      coalesce(extract(epoch FROM now() - min(run_at) FILTER (WHERE NOT leased)), 0)::float8 AS "oldestDueAgeS"
    FROM (
      SELECT kind, run_at, coalesce(lease_expires_at > now(), false) AS leased
      FROM work WHERE kind = ANY(${[...kinds]}) AND run_at <= now()
    ) AS due
    GROUP BY kind`.execute(database);
  return rows;
}

async function readRuntimes(database: Database): Promise<Backlog['runtimes']> {
  const { rows } = await sql<Backlog['runtimes'][number]>`
    SELECT phase, count(*),
      count(*) FILTER (WHERE silent_since <= now() - make_interval(secs => ${UNREACHABLE_AFTER_MS / 1_000})) AS unreachable
    FROM runtimes
    GROUP BY phase`.execute(database);
  return rows;
}

async function readEvents(database: Database): Promise<Backlog['events']> {
  const { rows } = await sql<Backlog['events']>`
    SELECT coalesce(sum(upto_seq - from_seq + 1), 0)::bigint AS unpublished,
      coalesce(extract(epoch FROM now() - min(since)), 0)::float8 AS "oldestAgeS"
    FROM event_outbox`.execute(database);
  return rows[0] ?? { unpublished: 0, oldestAgeS: 0 };
}
