import { type RawBuilder, sql } from 'kysely';
import type { Database, Transaction } from '../database/database.js';
import { inMs } from '../database/in-ms.js';
import type { LeasedJob } from './leased-job.js';
import { createJobSignals, type JobSignals } from './job-signals.js';

export type { LeasedJob };

/** `leaseMs` is the lease's new duration in ms from now. */
export interface HeldLease {
  job: LeasedJob;
  leaseMs: number;
}

export interface NewJob {
  kind: string;
  subjectId: string;
  workspaceId: string;
  /** Jobs with the same key run one at a time, lowest ordinal first, then lowest id. Default: the subject. */
  serialKey?: string;
  ordinal?: number;
  /** The job counts against this key's share of workers, for types that are claimed fairly. Default: the workspace. */
  fairKey?: string;
  /** Default: now. */
  dueInMs?: number;
}

export interface JobQueue {
  /** Adds the job, or reschedules an existing one. Wakes its workers after the commit if it is due now. */
  enqueue(job: NewJob, tx: Transaction): Promise<void>;
  /** @returns the types among `kinds` with a job that is due and not leased; an earlier job of its serial key may block it */
  dueKinds(kinds: readonly string[]): Promise<string[]>;
  claim(kind: string, limit: number, leaseMs: number): Promise<LeasedJob[]>;
  /** As `claim`, but fair between fair keys, with at most `perKey` concurrent leases per key. */
  claimFairly(kind: string, limit: number, leaseMs: number, perKey: number): Promise<LeasedJob[]>;
  /**
   * Extends leases in one statement. Skips rows that a transaction has locked: they are not extended and count as held.
   * @returns the lease ids that are still held
   */
  extend(leases: readonly HeldLease[]): Promise<Set<string>>;
  /**
   * Locks the job for the transaction.
   *
   * @param lock an expression that takes another lock after the job's
   * @returns false if the lease is lost: the transaction must not commit
   */
  holds(job: LeasedJob, db: Database, lock?: RawBuilder<unknown>): Promise<boolean>;
  /** Deletes the job, unless it was made due or enqueued again while its handler ran: then only its lease ends. */
  complete(job: LeasedJob, db?: Database): Promise<void>;
  /** As `holds`, and completes the job. */
  end(job: LeasedJob, db: Database, lock?: RawBuilder<unknown>): Promise<boolean>;
  /** Releases the job, due again after `delayMs`; `failed` counts a failure. */
  release(job: LeasedJob, delayMs: number, failed?: boolean): Promise<void>;
  /**
   * Makes these workspaces' jobs due now, and adds missing ones; the workspace is the subject. Jobs that are due within
   * `withinMs` stay unchanged. A job whose handler is running is handled again if `withinMs` is 0. Wakes the workers if
   * a job was not due.
   *
   * @returns the number of changed jobs
   */
  ensureDue(kind: string, workspaceIds: readonly string[], withinMs: number): Promise<number>;
  /** Makes one job due now unless another transaction has locked it. Never waits, and signals no worker. */
  tryMakeDueNow(kind: string, subjectId: string, db: Database): Promise<void>;
  /** Signals the workers. */
  makeDueNow(kind: string, workspaceId: string): Promise<void>;
  /** True if the workspace has a job of this type, due or not. */
  waits(kind: string, workspaceId: string, db?: Database): Promise<boolean>;
  /** Also deletes leased jobs: their workers lose them. */
  cancel(kind: string, workspaceId: string, db: Database): Promise<void>;
  /** Also deletes leased jobs: their workers lose them. */
  cancelSerial(kind: string, serialKey: string, db: Database): Promise<void>;
  /** Locks the job for the transaction, even if it is leased. @returns false if it does not exist */
  lock(kind: string, subjectId: string, db: Database): Promise<boolean>;
  /** As `lock`, for several jobs. */
  lockAll(kind: string, subjectIds: readonly string[], db: Database): Promise<void>;
  /** Deletes jobs; their leases are lost. */
  remove(kind: string, subjectIds: readonly string[], db: Database): Promise<void>;
  /** Takes the lease, even from another holder. Undefined if the job does not exist. */
  takeOver(kind: string, subjectId: string, leaseMs: number, db: Database): Promise<LeasedJob | undefined>;
}

/** A CTE `held` that locks a leased job and selects its subject; empty if the lease is lost. */
export const heldLease = ({ kind, subjectId, leaseId }: LeasedJob): RawBuilder<unknown> => sql`
  held AS MATERIALIZED (
    SELECT subject_id FROM work WHERE kind = ${kind} AND subject_id = ${subjectId} AND lease_id = ${leaseId} FOR UPDATE
  )`;

/**
 * CTEs that extend leases, except in rows that a transaction has locked. `held_leases` has the `lease_id` of each held
 * lease.
 */
export const extendedLeases = (leases: readonly HeldLease[]): RawBuilder<unknown> => sql`
  ours AS (
    SELECT * FROM unnest(
      ${leases.map(({ job }) => job.kind)}::text[],
      ${leases.map(({ job }) => job.subjectId)}::uuid[],
      ${leases.map(({ job }) => job.leaseId)}::uuid[],
      ${leases.map(({ leaseMs }) => leaseMs)}::float8[]
    ) AS ours (kind, subject_id, lease_id, lease_ms)
  ), free AS MATERIALIZED (
    SELECT w.kind, w.subject_id, ours.lease_ms FROM work w
    JOIN ours ON w.kind = ours.kind AND w.subject_id = ours.subject_id AND w.lease_id = ours.lease_id
    FOR UPDATE OF w SKIP LOCKED
  ), extended AS (
    UPDATE work w SET lease_expires_at = now() + free.lease_ms * interval '1 millisecond'
    FROM free WHERE w.kind = free.kind AND w.subject_id = free.subject_id
  ), held_leases AS (
    SELECT w.lease_id FROM work w
    JOIN ours ON w.kind = ours.kind AND w.subject_id = ours.subject_id AND w.lease_id = ours.lease_id
  )`;

/** Columns that take a lock after the job's. */
const alsoLocked = (lock: RawBuilder<unknown> | undefined): RawBuilder<unknown> => (lock ? sql`, ${lock}` : sql``);

/** Locks rows in a fixed order, so that concurrent statements do not deadlock. */
const locked = (condition: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  WITH locked AS MATERIALIZED (SELECT kind, subject_id FROM work WHERE ${condition} ORDER BY subject_id FOR UPDATE)`;

/**
 * Inserts new jobs that are due now. `jobs` selects each job's subject, workspace, serial key, ordinal and fair key.
 */
export const insertJobs = (kind: string, jobs: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO work (kind, subject_id, workspace_id, serial_key, ordinal, fair_key)
  SELECT ${kind}, subject_id, workspace_id, serial_key, ordinal, fair_key
  FROM (${jobs}) job (subject_id, workspace_id, serial_key, ordinal, fair_key)`;

/** As `insertJobs`. A job that is being handled is handled again, and one that waits stays as it is. */
export const insertOrRepeatJobs = (kind: string, jobs: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  ${insertJobs(kind, jobs)}
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0 WHERE work.lease_id IS NOT NULL`;

/** Ends the lease and the failures of a job, which is due now. @returns false if it does not exist */
export async function restartJob(db: Database, kind: string, subjectId: string): Promise<boolean> {
  const result = await db
    .updateTable('work')
    .set({ lease_id: null, lease_expires_at: null, run_at: sql`now()`, attempts: 0, failures: 0 })
    .where('kind', '=', kind)
    .where('subject_id', '=', subjectId)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** @param jobSignals signals this process's workers */
export function createJobQueue(database: Database, jobSignals: JobSignals = createJobSignals()): JobQueue {
  const held = (job: LeasedJob, db: Database = database) =>
    db
      .updateTable('work')
      .where('kind', '=', job.kind)
      .where('subject_id', '=', job.subjectId)
      .where('lease_id', '=', job.leaseId);

  const removeWhere = async (condition: RawBuilder<unknown>, db: Database): Promise<void> => {
    await sql`
      ${locked(condition)}
      DELETE FROM work w USING locked l WHERE w.kind = l.kind AND w.subject_id = l.subject_id`.execute(db);
  };

  return {
    async enqueue({ kind, subjectId, workspaceId, serialKey = subjectId, ordinal = 0, fairKey, dueInMs = 0 }, tx) {
      await sql`
        INSERT INTO work (kind, subject_id, workspace_id, serial_key, ordinal, fair_key, run_at)
        VALUES (${kind}, ${subjectId}, ${workspaceId}, ${serialKey}, ${ordinal}, ${fairKey ?? null}, ${inMs(dueInMs)})
        ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = excluded.run_at, attempts = 0`.execute(tx);
      if (dueInMs === 0) tx.afterCommit(jobSignals.notifier(kind));
    },

    async dueKinds(kinds) {
      const { rows } = await sql<{ kind: string }>`
        SELECT kind FROM unnest(${[...kinds]}::text[]) AS kinds (kind)
        WHERE EXISTS (
          SELECT FROM work w
          WHERE w.kind = kinds.kind AND w.run_at <= now() AND (w.lease_expires_at IS NULL OR w.lease_expires_at < now())
        )`.execute(database);
      return rows.map(({ kind }) => kind);
    },

    async claim(kind, limit, leaseMs) {
      // Materialized: if the planner ran the subquery once per row, each run would lock different rows.
      const { rows } = await sql<LeasedJob>`
        WITH due AS MATERIALIZED (
          SELECT w.kind, w.subject_id, w.lease_id FROM work w
          WHERE w.kind = ${kind} AND w.run_at <= now() AND (w.lease_expires_at IS NULL OR w.lease_expires_at < now())
            -- No other job with the same serial key comes before it.
            AND NOT EXISTS (
              SELECT FROM work earlier
              WHERE earlier.kind = w.kind AND earlier.serial_key = w.serial_key
                AND (earlier.ordinal, earlier.subject_id) < (w.ordinal, w.subject_id)
            )
          ORDER BY w.run_at
          LIMIT ${limit}
          FOR UPDATE SKIP LOCKED
        )
        UPDATE work w SET lease_id = gen_random_uuid(), lease_expires_at = ${inMs(leaseMs)}, attempts = w.attempts + 1
        FROM due WHERE w.kind = due.kind AND w.subject_id = due.subject_id
        RETURNING w.kind, w.subject_id AS "subjectId", w.workspace_id AS "workspaceId", w.lease_id AS "leaseId", w.attempts,
          w.failures, due.lease_id IS NOT NULL AS "takenOver"`.execute(database);
      return rows;
    },

    async claimFairly(kind, limit, leaseMs, perKey) {
      const { rows } = await sql<LeasedJob>`
        SELECT ${kind}::text AS kind, subject_id AS "subjectId", workspace_id AS "workspaceId", lease_id AS "leaseId", attempts,
          failures, taken_over AS "takenOver"
        FROM claim_fairly(${kind}, ${limit}::int, ${leaseMs}::float8, ${perKey}::int)`.execute(database);
      return rows;
    },

    async extend(leases) {
      const { rows } = await sql<{ leaseId: string }>`
        WITH ${extendedLeases(leases)} SELECT lease_id AS "leaseId" FROM held_leases`.execute(database);
      return new Set(rows.map(({ leaseId }) => leaseId));
    },

    async holds(job, db, lock) {
      const { rows } = await sql`
        WITH ${heldLease(job)} SELECT subject_id${alsoLocked(lock)} FROM held`.execute(db);
      return rows.length > 0;
    },

    async complete(job, db = database) {
      const { numDeletedRows } = await db
        .deleteFrom('work')
        .where('kind', '=', job.kind)
        .where('subject_id', '=', job.subjectId)
        .where('lease_id', '=', job.leaseId)
        .where('attempts', '>', 0)
        .executeTakeFirstOrThrow();
      if (numDeletedRows === 0n) await held(job, db).set({ lease_id: null, lease_expires_at: null }).execute();
    },

    async end({ kind, subjectId, leaseId }, db, lock) {
      const { rows } = await sql`
        DELETE FROM work WHERE kind = ${kind} AND subject_id = ${subjectId} AND lease_id = ${leaseId}
        RETURNING subject_id${alsoLocked(lock)}`.execute(db);
      return rows.length > 0;
    },

    async release(job, delayMs, failed = false) {
      await held(job)
        .set({
          lease_id: null,
          lease_expires_at: null,
          failures: sql`failures + ${failed ? 1 : 0}`,
          // A job that was made due while its handler ran stays due.
          run_at: sql`CASE WHEN attempts = 0 THEN run_at ELSE ${inMs(delayMs)} END`,
        })
        .execute();
    },

    async ensureDue(kind, workspaceIds, withinMs) {
      if (workspaceIds.length === 0) return 0;
      const isDue = sql`work.run_at <= ${inMs(withinMs)} AND (${withinMs} > 0 OR work.lease_id IS NULL)`;
      // Does not lock jobs that are due: a claim skips locked jobs.
      const { rows } = await sql<{ wanted: number; changed: number }>`
        WITH wanted AS MATERIALIZED (
          SELECT id FROM unnest(${[...workspaceIds]}::uuid[]) AS ids (id)
          WHERE NOT EXISTS (SELECT FROM work WHERE kind = ${kind} AND subject_id = id AND ${isDue})
        ), changed AS (
          INSERT INTO work (kind, subject_id, workspace_id, serial_key)
          SELECT ${kind}, id, id, id FROM wanted ORDER BY id
          ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0 WHERE NOT (${isDue})
          RETURNING subject_id
        )
        SELECT (SELECT count(*)::int FROM wanted) AS wanted, (SELECT count(*)::int FROM changed) AS changed`.execute(
        database,
      );
      const [{ wanted, changed } = { wanted: 0, changed: 0 }] = rows;
      // Another transaction can have made the job due meanwhile, and its claim can have skipped the job because of this
      // lock.
      if (wanted > 0) jobSignals.notifier(kind)();
      return changed;
    },

    async tryMakeDueNow(kind, subjectId, db) {
      await sql`
        WITH free AS MATERIALIZED (
          SELECT kind, subject_id FROM work WHERE kind = ${kind} AND subject_id = ${subjectId} FOR UPDATE SKIP LOCKED
        )
        UPDATE work w SET run_at = now(), attempts = 0
        FROM free WHERE w.kind = free.kind AND w.subject_id = free.subject_id`.execute(db);
    },

    async makeDueNow(kind, workspaceId) {
      await sql`
        ${locked(sql`kind = ${kind} AND workspace_id = ${workspaceId}`)}
        UPDATE work w SET run_at = now(), attempts = 0
        FROM locked l WHERE w.kind = l.kind AND w.subject_id = l.subject_id`.execute(database);
      jobSignals.notifier(kind)();
    },

    async waits(kind, workspaceId, db = database) {
      const row = await db
        .selectFrom('work')
        .select('subject_id')
        .where('kind', '=', kind)
        .where('workspace_id', '=', workspaceId)
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },

    cancelSerial: (kind, serialKey, db) => removeWhere(sql`kind = ${kind} AND serial_key = ${serialKey}`, db),

    async lock(kind, subjectId, db) {
      const row = await db
        .selectFrom('work')
        .select('kind')
        .where('kind', '=', kind)
        .where('subject_id', '=', subjectId)
        .forUpdate()
        .executeTakeFirst();
      return row !== undefined;
    },

    async takeOver(kind, subjectId, leaseMs, db) {
      const { rows } = await sql<LeasedJob>`
        UPDATE work SET lease_id = gen_random_uuid(), lease_expires_at = ${inMs(leaseMs)}, attempts = attempts + 1
        WHERE kind = ${kind} AND subject_id = ${subjectId}
        RETURNING kind, subject_id AS "subjectId", workspace_id AS "workspaceId", lease_id AS "leaseId",
          attempts, failures, true AS "takenOver"`.execute(db);
      return rows[0];
    },

    cancel: (kind, workspaceId, db) => removeWhere(sql`kind = ${kind} AND workspace_id = ${workspaceId}`, db),

    async lockAll(kind, subjectIds, db) {
      if (subjectIds.length === 0) return;
      await sql`
        SELECT FROM work WHERE kind = ${kind} AND subject_id = ANY(${[...subjectIds]}::uuid[])
        ORDER BY subject_id FOR UPDATE`.execute(db);
    },

    async remove(kind, subjectIds, db) {
      if (subjectIds.length === 0) return;
      await removeWhere(sql`kind = ${kind} AND subject_id = ANY(${[...subjectIds]}::uuid[])`, db);
    },
  };
}
