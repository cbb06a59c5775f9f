import type { Database, Transaction } from '../src/database/database.js';

/** A connection or a transaction as a store takes it; after-commit actions do not run. */
export const withoutAfterCommit = (db: Database): Transaction => Object.assign(db, { afterCommit: () => undefined });
