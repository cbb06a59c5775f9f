import { type RawBuilder, sql } from 'kysely';

// Parts of the statements that claim jobs, which are rows `w` of the table `work`.

/** The job is due and has no valid lease. */
export const IS_DUE = sql`w.run_at <= now() AND (w.lease_expires_at IS NULL OR w.lease_expires_at < now())`;

/** No other job with the same serial key comes before it. */
export const IS_FIRST_OF_ITS_KEY = sql`NOT EXISTS (
  SELECT 1 FROM work earlier
  WHERE earlier.kind = w.kind AND earlier.serial_key = w.serial_key
    AND (earlier.ordinal, earlier.subject_id) < (w.ordinal, w.subject_id)
)`;

/** Leases the rows of `due`, which has their kind, subject_id and previous lease_id. Returns columns of `LeasedJob`. */
export const leaseDue = (expiresAt: RawBuilder<Date>): RawBuilder<unknown> => sql`
  UPDATE work w
  SET lease_id = gen_random_uuid(), lease_expires_at = ${expiresAt}, attempts = w.attempts + 1
  FROM due
  WHERE w.kind = due.kind AND w.subject_id = due.subject_id
  RETURNING w.kind, w.subject_id AS "subjectId", w.workspace_id AS "workspaceId",
    w.lease_id AS "leaseId", w.attempts, w.failures, due.lease_id IS NOT NULL AS "takenOver"`;

/** A time in `ms` milliseconds. */
export const inMs = (ms: number): RawBuilder<Date> => sql<Date>`now() + ${ms} * interval '1 millisecond'`;
