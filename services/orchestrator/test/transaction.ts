import type { Database, Transaction } from '../src/platform/database/database.js';

/** Turns a connection into a transaction for a store; after-commit actions do not run. */
export const withoutAfterCommit = (db: Database): Transaction => Object.assign(db, { afterCommit: () => undefined });

const executor = {
  provideConnection: <T>(use: (connection: unknown) => Promise<T>) => use({}),
  withConnectionProvider: () => executor,
};

/** For code that does not use its transaction's database. It can be a pipelined one. */
export const NO_TRANSACTION: Transaction = withoutAfterCommit({ getExecutor: () => executor } as unknown as Database);
