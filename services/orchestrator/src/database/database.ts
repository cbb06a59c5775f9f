import type { Registry } from '@uswarm/service-kit';
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { preparedName } from './prepared.js';
import { measurePool } from './pool-metrics.js';
import type { Schema } from './tables.js';

/** A connection pool, or a transaction on one of its connections. */
export type Database = Kysely<Schema>;

/** Runs after COMMIT. A promise is not awaited; its rejection is logged. */
export type AfterCommit = () => void | Promise<void>;

/** A transaction that knows what to do once it is committed. */
export type Transaction = Database & {
  /**
   * Runs the action after COMMIT: not after a rollback, and once per key if it is registered several times.
   * The default key is the function itself.
   */
  afterCommit(action: AfterCommit, key?: unknown): void;
};

/** Runs everything in one transaction; any error rolls all of it back. */
export type WithTransaction = <T>(run: (tx: Transaction) => Promise<T>) => Promise<T>;

const INT8 = 20;

export interface DatabaseOptions {
  url: string;
  /** Connections of this process. */
  maxConnections?: number;
  /** Milliseconds that Postgres works on a statement at most. Default: 10 s */
  statementDeadlineMs?: number;
  /** Milliseconds after which a statement that is not answered counts as lost. Default: 12 s */
  answerDeadlineMs?: number;
  /** Whether connections keep statements prepared. Default: true. */
  prepare?: boolean;
  /** Milliseconds that a new connection may take, or the wait for a free one. Default: 3 s */
  connectDeadlineMs?: number;
  /** Where the pool is counted, if anywhere. */
  metrics?: Registry;
  /** What the pool is called there. */
  pool?: string;
}

/** By Postgres itself, and a little later here: a server that is out of reach keeps no deadline. */
const STATEMENT_DEADLINE_MS = 10_000;
const ANSWER_DEADLINE_MS = 12_000;
const CONNECT_DEADLINE_MS = 3_000;
const NO_ANSWER = 'Query read timeout';

/** Gives a connection up with the statement that was not answered: else the next one would wait behind it. */
class ClientWithQueryTimeout extends pg.Client {
  // Of the many forms of `query` the pool's users take the one that gives a promise.
  override query(...parameters: unknown[]): never {
    const answer: unknown = Reflect.apply(super.query, this, parameters);
    if (answer instanceof Promise) {
      answer.catch((error: unknown) => {
        if (error instanceof Error && error.message === NO_ANSWER) void this.end();
      });
    }
    return answer as never;
  }
}

class PreparingClient extends ClientWithQueryTimeout {
  override query(...parameters: unknown[]): never {
    const [text, values] = parameters;
    const name =
      typeof text === 'string' && Array.isArray(values) && values.length > 0 ? preparedName(text) : undefined;
    return name === undefined ? super.query(...parameters) : super.query({ name, text, values });
  }
}

/**
 * Sequences and token counts stay far below 2^53, so int8 is read as a number. Statements have a
 * deadline: a request never waits for ever on a lock.
 */
export function openDatabase({
  url,
  maxConnections = 20,
  statementDeadlineMs = STATEMENT_DEADLINE_MS,
  answerDeadlineMs = ANSWER_DEADLINE_MS,
  connectDeadlineMs = CONNECT_DEADLINE_MS,
  prepare = true,
  metrics,
  pool: poolName = 'requests',
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    Client: prepare ? PreparingClient : ClientWithQueryTimeout,
    connectionString: url,
    max: maxConnections,
    connectionTimeoutMillis: connectDeadlineMs,
    statement_timeout: statementDeadlineMs,
    query_timeout: answerDeadlineMs,
    // A process that hangs within a transaction must not keep its locks.
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    application_name: 'uswarm-orchestrator',
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  if (metrics !== undefined) measurePool(metrics, poolName, pool);
  // A connection that breaks is replaced by the pool, and fails whoever uses it; without listeners it
  // would end the process: the pool's own while it is idle, the client's between two statements.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}
