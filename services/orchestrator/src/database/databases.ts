import type { Registry } from '@uswarm/service-kit';
import { connectionsOf, type OrchestratorConfig } from '../config.js';
import { type Database, openDatabase } from './database.js';

/**
 * The connection pools of one process. They are separate, so that slow requests neither block turns nor delay the
 * renewal of leases.
 */
export interface Databases {
  requests: Database;
  /** Turns, runtimes and the relay. */
  background: Database;
  /** Only extends leases. */
  leases: Database;
  close(): Promise<void>;
}

/** Much shorter than a lease: a hanging connection is closed before the next attempt. */
const LEASE_DEADLINE_MS = 2_000;

export function openDatabases(config: OrchestratorConfig, metrics: Registry): Databases {
  const connections = connectionsOf(config);
  const open = (pool: keyof typeof connections, deadlines = {}): Database =>
    openDatabase({
      url: config.DATABASE_URL,
      maxConnections: connections[pool],
      prepare: config.DATABASE_PREPARED_STATEMENTS === 'on',
      metrics,
      pool,
      ...deadlines,
    });
  const databases = {
    requests: open('requests'),
    background: open('background'),
    leases: open('leases', {
      connectDeadlineMs: LEASE_DEADLINE_MS,
      statementDeadlineMs: LEASE_DEADLINE_MS,
      answerDeadlineMs: LEASE_DEADLINE_MS,
    }),
  };
  return {
    ...databases,
    async close() {
      await Promise.all(Object.values(databases).map((database) => database.destroy()));
    },
  };
}
