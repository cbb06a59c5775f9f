import type { Registry } from '@uswarm/service-kit';
import { connectionsOf, type OrchestratorConfig } from '../config.js';
import { type Database, openDatabase } from './database.js';

/**
 * The connections of one process. Each pool has its own, so that slow requests neither stop replies nor cost
 * leases.
 */
export interface Databases {
  requests: Database;
  /** Replies, runtimes and the relay of events. */
  background: Database;
  /** Extends leases and does nothing else. */
  leases: Database;
  close(): Promise<void>;
}

/** Well within a lease: a connection that hangs is given up before the next try. */
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
