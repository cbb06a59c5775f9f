import { sql } from 'kysely';
import type { Database } from '../database/database.js';
import type { LeasedJob } from './leased-job.js';

const KEY = sql`coalesce(w.fair_key, w.workspace_id)`;

/** Claims of one kind come one after the other, so that what each counts is what the others leased. */
const LOCK_SEED = 3;

/**
 * Leases due rows of a kind, shared fairly: those of the key with the fewest leases first, and never more than `perKey`
 * of one key at a time. Looks at each key that waits, but only at the rows of a key that can be taken.
 */
export async function claimFairly(
  database: Database,
  { kind, limit, leaseMs, perKey }: { kind: string; limit: number; leaseMs: number; perKey: number },
): Promise<LeasedJob[]> {
  return database.transaction().execute(async (tx) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${kind}, ${LOCK_SEED}))`.execute(tx);
    const { rows } = await sql<LeasedJob>`
      WITH RECURSIVE keys (key) AS (
        (SELECT ${KEY} FROM work w WHERE w.kind = ${kind} ORDER BY ${KEY} LIMIT 1)
        UNION ALL
        SELECT (SELECT ${KEY} FROM work w WHERE w.kind = ${kind} AND ${KEY} > keys.key ORDER BY ${KEY} LIMIT 1)
        FROM keys WHERE keys.key IS NOT NULL
      ), picked AS MATERIALIZED (
        SELECT due.subject_id, due.run_at, leased.count + due.place AS turn
        FROM keys
        CROSS JOIN LATERAL (
          SELECT count(*) AS count FROM work w
          WHERE w.kind = ${kind} AND ${KEY} = keys.key AND w.lease_id IS NOT NULL AND w.lease_expires_at >= now()
        ) leased
        CROSS JOIN LATERAL (
          SELECT w.subject_id, w.run_at, row_number() OVER (ORDER BY w.run_at) AS place
          FROM work w
          WHERE w.kind = ${kind} AND ${KEY} = keys.key AND w.run_at <= now()
            AND (w.lease_expires_at IS NULL OR w.lease_expires_at < now())
            AND NOT EXISTS (
              SELECT 1 FROM work earlier
              WHERE earlier.kind = w.kind AND earlier.serial_key = w.serial_key
                AND (earlier.ordinal, earlier.subject_id) < (w.ordinal, w.subject_id)
            )
          ORDER BY w.run_at
          LIMIT greatest(0, ${perKey}::bigint - leased.count)
        ) due
        WHERE keys.key IS NOT NULL
        ORDER BY turn, due.run_at
        LIMIT ${limit}
      ), due AS MATERIALIZED (
        SELECT w.kind, w.subject_id, w.lease_id
        FROM picked JOIN work w ON w.kind = ${kind} AND w.subject_id = picked.subject_id
        WHERE w.run_at <= now() AND (w.lease_expires_at IS NULL OR w.lease_expires_at < now())
        FOR UPDATE OF w SKIP LOCKED
      )
      UPDATE work w
      SET lease_id = gen_random_uuid(), lease_expires_at = now() + ${leaseMs} * interval '1 millisecond',
        attempts = w.attempts + 1
      FROM due
      WHERE w.kind = due.kind AND w.subject_id = due.subject_id
      RETURNING w.kind, w.subject_id AS "subjectId", w.workspace_id AS "workspaceId",
        w.lease_id AS "leaseId", w.attempts, w.failures, due.lease_id IS NOT NULL AS "takenOver"`.execute(tx);
    return rows;
  });
}
