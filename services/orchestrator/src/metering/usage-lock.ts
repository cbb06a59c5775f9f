import { type RawBuilder, sql } from 'kysely';

/**
 * An expression that locks the usage of a user until the transaction ends: meanwhile no other one starts a turn of the user or reserves tokens. A
 * transaction that records usage and appends events takes it before the events: usage precedes the workspace in the lock order.
 *
 * @param userId the id as text
 */
export const usageLock = (userId: string | RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`pg_advisory_xact_lock(hashtextextended(${userId}, 4))`;
