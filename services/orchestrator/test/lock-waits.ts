import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import type { Database } from '../src/database/database.js';

/** The number of statements in the database that wait for a lock. */
async function lockWaits(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND wait_event_type = 'Lock'`.execute(database);
  return rows[0]?.count ?? 0;
}

/** Resolves when a statement waits for a lock. */
export async function untilBlocked(database: Database): Promise<void> {
  await eventually(() => lockWaits(database), { until: (waits) => waits > 0 });
}
