import { type RawBuilder, sql } from 'kysely';

/**
 * An expression that locks a user's usage until the transaction ends: meanwhile no other transaction starts a turn for
 * the user or reserves tokens. A transaction that records usage and appends events takes it before the events: usage
 * precedes the workspace in the lock order.
 *
 * @param userId as text
 */
export const usageLock = (userId: string | RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`pg_advisory_xact_lock(hashtextextended(${userId}, 4))`;
