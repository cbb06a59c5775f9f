import type { Registry } from '@uswarm/service-kit';
import { type ConnectedClient, type Database, openDatabase } from './database.js';

/**
 * One process's connection pools. They are separate, so that slow requests neither block turns nor delay lease
 * renewals.
 */
export interface Databases {
  requests: Database;
  /** Turns, runtimes and the relay. */
  background: Database;
  /** Only extends leases. */
  leases: Database;
  /** A standby for reads; undefined without one. */
  standby: Database | undefined;
  close(): Promise<void>;
}

/** Short, because the primary can answer too. */
const STANDBY_CONNECT_DEADLINE_MS = 1_000;
/** Much shorter than a lease: a hanging connection is closed before the next attempt. */
const LEASE_DEADLINE_MS = 2_000;

interface PoolConfig {
  DATABASE_MAX_CONNECTIONS: number;
  DATABASE_BACKGROUND_CONNECTIONS?: number | undefined;
  DATABASE_LEASE_CONNECTIONS?: number | undefined;
}

interface DatabasesConfig extends PoolConfig {
  DATABASE_URL: string;
  DATABASE_READ_URL?: string | undefined;
  DATABASE_READ_MAX_CONNECTIONS: number;
  DATABASE_PREPARED_STATEMENTS: 'on' | 'off';
}

/** Divides this process's connections between its pools. @throws Error if no connection remains for requests */
export function connectionsOf(config: PoolConfig): { requests: number; background: number; leases: number } {
  const { DATABASE_MAX_CONNECTIONS: total } = config;
  const leases = config.DATABASE_LEASE_CONNECTIONS ?? (total < 10 ? 1 : 2);
  const background = config.DATABASE_BACKGROUND_CONNECTIONS ?? Math.max(1, Math.floor(total * 0.3));
  const requests = total - background - leases;
  if (requests < 1) {
    throw new Error(
      'DATABASE_MAX_CONNECTIONS leaves no connection for requests: it includes DATABASE_BACKGROUND_CONNECTIONS and DATABASE_LEASE_CONNECTIONS',
    );
  }
  return { requests, background, leases };
}

/** @param onConnect called with each new connection, except connections that only extend leases */
export function openDatabases(
  config: DatabasesConfig,
  metrics: Registry,
  onConnect: (client: ConnectedClient) => void,
): Databases {
  const connections = connectionsOf(config);
  const prepare = config.DATABASE_PREPARED_STATEMENTS === 'on';
  const open = (pool: keyof typeof connections, deadlines = {}): Database =>
    openDatabase({
      url: config.DATABASE_URL,
      maxConnections: connections[pool],
      prepare,
      metrics,
      pool,
      ...deadlines,
    });
  const openStandby = (url: string): Database =>
    openDatabase({
      url,
      maxConnections: config.DATABASE_READ_MAX_CONNECTIONS,
      prepare,
      metrics,
      pool: 'standby',
      connectDeadlineMs: STANDBY_CONNECT_DEADLINE_MS,
    });
  const databases = {
    requests: open('requests', { onConnect }),
    background: open('background', { onConnect }),
    leases: open('leases', {
      connectDeadlineMs: LEASE_DEADLINE_MS,
      statementDeadlineMs: LEASE_DEADLINE_MS,
      answerDeadlineMs: LEASE_DEADLINE_MS,
    }),
  };
  const standby = config.DATABASE_READ_URL === undefined ? undefined : openStandby(config.DATABASE_READ_URL);
  return {
    ...databases,
    standby,
    async close() {
      await Promise.all([...Object.values(databases), standby].map((database) => database?.destroy()));
    },
  };
}
