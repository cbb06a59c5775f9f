import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';

/** Represents all gateways from release 0.2, which do not announce themselves. */
export const RELEASE_02 = 'release-0.2';

export interface GatewayStore {
  record(id: string, busVersion: number): Promise<void>;
  /** Returns the lowest version that a running gateway reads; null without gateways. */
  oldestVersion(): Promise<number | null>;
  /** Deletes gateways that have not called since `before`. */
  prune(before: Date): Promise<void>;
}

/** A gateway with sockets calls each minute. */
const RUNNING = sql`interval '3 minutes'`;
/** During a roll-out, its gateways may call only orchestrators of release 0.2, which record nothing. */
const RUNNING_02 = sql`interval '10 minutes'`;

export function createGatewayStore(database: Database): GatewayStore {
  return {
    async record(id, busVersion) {
      await sql`
        INSERT INTO gateways (id, bus_version) VALUES (${id}, ${busVersion})
        ON CONFLICT (id) DO UPDATE SET bus_version = EXCLUDED.bus_version, seen_at = now()`.execute(database);
    },

    async oldestVersion() {
      const { rows } = await sql<{ version: number | null }>`
        SELECT min(bus_version) AS version FROM gateways
        WHERE seen_at > now() - CASE WHEN id = ${RELEASE_02} THEN ${RUNNING_02} ELSE ${RUNNING} END`.execute(database);
      return rows[0]?.version ?? null;
    },

    async prune(before) {
      await database.deleteFrom('gateways').where('seen_at', '<', before).execute();
    },
  };
}
