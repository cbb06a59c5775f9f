import { setTimeout as sleep } from 'node:timers/promises';
import { type Backoff, backoffDelay, type Logger } from '@uswarm/service-kit';
import type { AfterCommit, Database, Transaction, WithTransaction } from './database.js';

/** Postgres rolled back the transaction because of a concurrent one; a retry can succeed. */
const CONTENDED: ReadonlySet<unknown> = new Set([
  '40001', // serialization_failure
  '40P01', // deadlock_detected
]);
const ATTEMPTS = 4;
const BACKOFF: Backoff = { initialMs: 20, maxMs: 200 };

/**
 * Retries transactions that fail with a deadlock or a serialization failure, so `run` must not have side effects
 * outside the database: register those with `tx.afterCommit`.
 *
 * @throws errors that `run` throws, and the last attempt's contention error
 */
export const createWithTransaction = (database: Database, logger?: Pick<Logger, 'warn'>): WithTransaction =>
  repeated((run) => database.transaction().execute(run), logger);

/**
 * As `createWithTransaction`, for a function that executes only one statement with `sql`: it is its own transaction.
 */
export const createWithStatement = (database: Database, logger?: Pick<Logger, 'warn'>): WithTransaction =>
  repeated(
    (run) => run(Object.assign(Object.create(database) as Database, { getExecutor: () => database.getExecutor() })),
    logger,
  );

type Execute = <T>(run: (tx: Database) => Promise<T>) => Promise<T>;

function repeated(execute: Execute, logger?: Pick<Logger, 'warn'>): WithTransaction {
  return async (run) => {
    for (let attempt = 1; ; attempt += 1) {
      const actions = new Map<unknown, AfterCommit>();
      try {
        const result = await execute((tx) =>
          run(withAfterCommit(tx, (action, key = action) => void actions.set(key, action))),
        );
        for (const action of actions.values()) runAction(action, logger);
        return result;
      } catch (error) {
        if (attempt === ATTEMPTS || !CONTENDED.has((error as { code?: unknown } | null)?.code)) throw error;
        await sleep(backoffDelay(BACKOFF, attempt - 1));
      }
    }
  };
}

const withAfterCommit = (tx: Database, afterCommit: Transaction['afterCommit']): Transaction =>
  Object.assign(tx, { afterCommit });

/** The transaction is already committed, so an error here must not fail its caller. */
function runAction(action: AfterCommit, logger?: Pick<Logger, 'warn'>): void {
  const report = (error: unknown): void => logger?.warn({ err: error }, 'after-commit action failed');
  try {
    action()?.catch(report);
  } catch (error) {
    report(error);
  }
}
