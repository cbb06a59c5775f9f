import { sql } from 'kysely';
import type { Database } from '../src/platform/database/database.js';

/** Takes the lock that the user's searches wait for. @returns releases the lock */
export async function blockSearches(database: Database, userId: string): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = database.transaction().execute(async (tx) => {
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${userId}, 2))`.execute(tx);
    held.resolve();
    await release.promise;
  });
  await Promise.race([held.promise, holding]);
  return async () => {
    release.resolve();
    await holding;
  };
}

/** Counts connections on which a search waits for the lock. */
export async function searchesInPostgres(database: Database): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND state <> 'idle' AND wait_event_type = 'Lock'
      AND query LIKE '%pg_advisory_xact_lock%'`.execute(database);
  return rows[0]?.count ?? 0;
}
