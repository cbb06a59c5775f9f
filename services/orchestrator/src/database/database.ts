import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import type { Schema } from './schema.js';

/** A connection pool, or a transaction on one of its connections. */
export type Database = Kysely<Schema>;

/** Runs everything in one transaction; what it throws rolls all of it back. */
export type Transact = <T>(run: (tx: Database) => Promise<T>) => Promise<T>;

const INT8 = 20;

export interface DatabaseOptions {
  url: string;
  /** Connections of this process. */
  maxConnections?: number;
}

/**
 * Sequences and token counts stay far below 2^53, so int8 is read as a number. Statements have a
 * deadline: a request never waits for ever on a lock.
 */
export function openDatabase({ url, maxConnections = 20 }: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: 3_000,
    statement_timeout: 10_000,
    // A process that hangs within a transaction must not keep its locks.
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    application_name: 'uswarm-orchestrator',
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  // A connection that breaks is replaced by the pool, and fails whoever uses it; without listeners it
  // would end the process: the pool's own while it is idle, the client's between two statements.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}
