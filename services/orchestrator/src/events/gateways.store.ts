import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';

/** A gateway with sockets calls each minute. */
const RUNNING = sql`interval '3 minutes'`;

export async function recordGateway(db: Database, id: string, busVersion: number): Promise<void> {
  await sql`
    INSERT INTO gateways (id, bus_version) VALUES (${id}, ${busVersion})
    ON CONFLICT (id) DO UPDATE SET bus_version = EXCLUDED.bus_version, seen_at = now()`.execute(db);
}

/** Returns the lowest version that a running gateway reads; null without gateways. */
export async function findOldestGatewayVersion(db: Database): Promise<number | null> {
  const { rows } = await sql<{ version: number | null }>`
    SELECT min(bus_version) AS version FROM gateways
    WHERE seen_at > now() - ${RUNNING}`.execute(db);
  return rows[0]?.version ?? null;
}

/** Deletes gateways that have not called since `before`. */
export async function pruneGateways(db: Database, before: Date): Promise<void> {
  await db.deleteFrom('gateways').where('seen_at', '<', before).execute();
}
