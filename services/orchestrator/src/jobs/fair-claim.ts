import { sql } from 'kysely';
import type { Database } from '../database/database.js';
import { inMs, IS_DUE, IS_FIRST_OF_ITS_KEY, leaseDue } from './claim-sql.js';
import type { LeasedJob } from './leased-job.js';

const KEY = sql`coalesce(w.fair_key, w.workspace_id)`;

/** Seed of the advisory lock that serializes the claims of a job type, so that each counts the leases of the others. */
const LOCK_SEED = 3;

/**
 * Leases due jobs of a type fairly: keys with the fewest leases first, and at most `perKey` concurrent leases per key.
 * Reads one row per waiting key, and only as many rows of a key as can be claimed.
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
          WHERE w.kind = ${kind} AND ${KEY} = keys.key AND ${IS_DUE} AND ${IS_FIRST_OF_ITS_KEY}
          ORDER BY w.run_at
          LIMIT greatest(0, ${perKey}::bigint - leased.count)
        ) due
        WHERE keys.key IS NOT NULL
        ORDER BY turn, due.run_at
        LIMIT ${limit}
      ), due AS MATERIALIZED (
        SELECT w.kind, w.subject_id, w.lease_id
        FROM picked JOIN work w ON w.kind = ${kind} AND w.subject_id = picked.subject_id
        WHERE ${IS_DUE}
        FOR UPDATE OF w SKIP LOCKED
      )
      ${leaseDue(inMs(leaseMs))}`.execute(tx);
    return rows;
  });
}
