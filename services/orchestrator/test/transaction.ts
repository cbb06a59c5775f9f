import type { Database, Transaction } from '../src/database/database.js';

/** Turns a connection into a transaction for a store; after-commit actions do not run. */
export const withoutAfterCommit = (db: Database): Transaction => Object.assign(db, { afterCommit: () => undefined });

/** A transaction for code that does not use its database. */
export const NO_TRANSACTION: Transaction = withoutAfterCommit({} as Database);
