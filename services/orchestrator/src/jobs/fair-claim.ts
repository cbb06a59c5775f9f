import { sql } from 'kysely';
import type { Database } from '../database/database.js';
import type { LeasedJob } from './leased-job.js';

/** Leases due jobs of a kind fairly: keys with the fewest leases first, and at most `perKey` concurrent leases per key. */
export async function claimFairly(
  database: Database,
  { kind, limit, leaseMs, perKey }: { kind: string; limit: number; leaseMs: number; perKey: number },
): Promise<LeasedJob[]> {
  const { rows } = await sql<LeasedJob>`
    SELECT ${kind}::text AS kind, subject_id AS "subjectId", workspace_id AS "workspaceId", lease_id AS "leaseId", attempts,
      failures, taken_over AS "takenOver"
    FROM claim_fairly(${kind}, ${limit}::int, ${leaseMs}::float8, ${perKey}::int)`.execute(database);
  return rows;
}
