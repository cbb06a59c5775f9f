import type { Writable } from 'node:stream';
import type { Registry } from '@uswarm/service-kit';
import { Kysely } from 'kysely';
import pg from 'pg';
import { PipelinedDialect } from './pipelined-dialect.js';
import { preparedName } from './prepared.js';
import { measurePool } from './pool-metrics.js';
import type { Schema } from './tables.js';

/** A connection pool, or a transaction on one of its connections. */
export type Database = Kysely<Schema>;

/** Runs after COMMIT. A promise is not awaited; its rejection is logged. */
export type AfterCommit = () => void | Promise<void>;

/** A transaction with actions that run after its commit. */
export type Transaction = Database & {
  /**
   * Runs the action after COMMIT: not after a rollback, and once per key if it is registered several times. The default
   * key is the function itself.
   */
  afterCommit(action: AfterCommit, key?: unknown): void;
};

/** Runs everything in one transaction; any error rolls all of it back. */
export type WithTransaction = <T>(run: (tx: Transaction) => Promise<T>) => Promise<T>;

/** A connection that was just established. Statements on it precede its first user's. */
export type ConnectedClient = Pick<pg.ClientBase, 'query'>;

const INT8 = 20;

export interface DatabaseOptions {
  url: string;
  maxConnections?: number;
  /** Postgres cancels a statement after this many ms. Default: 10 s */
  statementDeadlineMs?: number;
  /** The client gives up on a statement without a response after this many ms. Default: 12 s */
  answerDeadlineMs?: number;
  /** Uses prepared statements. Default: true. */
  prepare?: boolean;
  /** Time limit in ms for establishing a connection or waiting for a free one. Default: 3 s */
  connectDeadlineMs?: number;
  /** Default: no pool metrics. */
  metrics?: Registry;
  /** The `pool` label in metrics. */
  pool?: string;
  onConnect?: (client: ConnectedClient) => void;
}

/** Postgres enforces the first deadline. The client enforces the second in case the server is unreachable. */
const STATEMENT_DEADLINE_MS = 10_000;
const ANSWER_DEADLINE_MS = 12_000;
const CONNECT_DEADLINE_MS = 3_000;
const NO_ANSWER = 'Query read timeout';

/** Closes the connection when a statement times out: the next statement would wait behind it. */
class ClientWithQueryTimeout extends pg.Client {
  // `query` has many overloads; the pool's users call the overload that returns a promise.
  override query(...parameters: unknown[]): never {
    this.#writeTogether();
    const answer: unknown = Reflect.apply(super.query, this, parameters);
    if (answer instanceof Promise) {
      answer.catch((error: unknown) => {
        if (error instanceof Error && error.message === NO_ANSWER) void this.end();
      });
    }
    return (parameters[0] === 'commit' && answer instanceof Promise ? answer.then(mustBeCommitted) : answer) as never;
  }

  /** Statements that are sent without waiting, such as BEGIN and the first one, cost one system call. */
  #writeTogether(): void {
    const { stream } = (this as unknown as { connection: { stream: Writable } }).connection;
    stream.cork();
    process.nextTick(() => stream.uncork());
  }
}

/**
 * If a statement has failed, Postgres answers COMMIT with a rollback, and reports no error.
 *
 * @throws Error after such a rollback: the caller has ignored the statement's error
 */
function mustBeCommitted(result: pg.QueryResult): pg.QueryResult {
  if (result.command === 'ROLLBACK')
    throw new Error('the transaction was rolled back, because a statement in it failed');
  return result;
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
 * int8 is read as a number, because sequences and token counts stay far below 2^53. Statements have a deadline, so a
 * request cannot wait for a lock forever.
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
  onConnect,
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    Client: prepare ? PreparingClient : ClientWithQueryTimeout,
    connectionString: url,
    max: maxConnections,
    pipeline: true,
    connectionTimeoutMillis: connectDeadlineMs,
    statement_timeout: statementDeadlineMs,
    query_timeout: answerDeadlineMs,
    // A process that hangs in a transaction must not keep its locks.
    idle_in_transaction_session_timeout: 30_000,
    keepAlive: true,
    application_name: 'uswarm-orchestrator',
    types: {
      getTypeParser: (oid, format) =>
        oid === INT8 && format !== 'binary' ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  if (metrics !== undefined) measurePool(metrics, poolName, pool);
  // The pool replaces broken connections, and statements on them fail. Without these listeners the process would exit:
  // the pool emits errors from idle connections, the client emits errors between two statements.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  if (onConnect !== undefined) pool.on('connect', onConnect);
  return new Kysely<Schema>({ dialect: new PipelinedDialect({ pool }) });
}
