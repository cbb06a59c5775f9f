import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { restoreUsage } from '../../records/usage-rows.js';
import { rejectTokensOfDeleted } from '../../records/users.store.js';

/** Keeps data about deleted accounts under a keyed identity hash. The reasons given are stored without a link to it. */
export interface DeletedAccountStore {
  wasDeleted(hashes: readonly Buffer[]): Promise<boolean>;
  /** Moves rows from hashes with previous keys to the current hash. */
  rename(from: readonly Buffer[], to: Buffer, db: Database): Promise<void>;
  /**
   * Stores the usage since the start of `period` and the time from which tokens are valid. Call it before the user is
   * deleted, in the same transaction.
   */
  remember(hash: Buffer, userId: string, period: string, db: Database): Promise<void>;
  /**
   * Uses a separate transaction: rows from one transaction can be correlated, and the text must not be linkable to the
   * identity.
   */
  addFeedback(month: string, why: { reason: string; description: string }): Promise<void>;
  /**
   * Counts a sign-up after a deletion; 0 disables the limit.
   *
   * @returns ms until the next sign-up is allowed, if `limit` was reached within a day
   */
  countReturn(hash: Buffer, limit: number, db: Database): Promise<number | undefined>;
  /** Gives the new user the data stored by `remember`. */
  restore(hash: Buffer, userId: string, period: string, db: Database): Promise<void>;
  /** Deletes usage from before `period`. @returns the number of deleted rows */
  prune(period: string): Promise<number>;
}

export function createDeletedAccountStore(database: Database): DeletedAccountStore {
  return {
    async wasDeleted(hashes) {
      const row = await database
        .selectFrom('deleted_identities')
        .select('deleted_at')
        .where('identity_hash', 'in', hashes)
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },

    async rename(from, to, db) {
      // One at a time: during a rolling update, replicas may have written under both keys.
      for (const hash of from) {
        await sql`
          WITH moved AS (DELETE FROM deleted_identities WHERE identity_hash = ${hash} RETURNING *)
          INSERT INTO deleted_identities AS d (identity_hash, deleted_at, sessions_valid_after, returns)
          SELECT ${to}::bytea, deleted_at, sessions_valid_after, returns FROM moved
          ON CONFLICT (identity_hash) DO UPDATE SET
            deleted_at = greatest(d.deleted_at, excluded.deleted_at),
            sessions_valid_after = greatest(d.sessions_valid_after, excluded.sessions_valid_after),
            returns = d.returns || excluded.returns`.execute(db);
        await sql`
          WITH moved AS (DELETE FROM deleted_usage WHERE identity_hash = ${hash} RETURNING *)
          INSERT INTO deleted_usage AS d (identity_hash, period, prompt_tokens, completion_tokens, requests)
          SELECT ${to}::bytea, period, prompt_tokens, completion_tokens, requests FROM moved
          ON CONFLICT (identity_hash, period) DO UPDATE SET
            prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
            completion_tokens = d.completion_tokens + excluded.completion_tokens,
            requests = d.requests + excluded.requests`.execute(db);
      }
    },

    async remember(hash, userId, period, db) {
      await sql`
        INSERT INTO deleted_identities AS d (identity_hash, sessions_valid_after)
        SELECT ${hash}::bytea, sessions_valid_after FROM users WHERE id = ${userId}
        ON CONFLICT (identity_hash) DO UPDATE SET
          sessions_valid_after = greatest(d.sessions_valid_after, excluded.sessions_valid_after)`.execute(db);
      await sql`
        INSERT INTO deleted_usage AS d (identity_hash, period, prompt_tokens, completion_tokens, requests)
        SELECT ${hash}::bytea, period, sum(prompt_tokens), sum(completion_tokens), sum(requests)
        FROM usage_periods WHERE user_id = ${userId} AND period >= ${period} GROUP BY period
        ON CONFLICT (identity_hash, period) DO UPDATE SET
          prompt_tokens = d.prompt_tokens + excluded.prompt_tokens,
          completion_tokens = d.completion_tokens + excluded.completion_tokens,
          requests = d.requests + excluded.requests`.execute(db);
    },

    async addFeedback(month, why) {
      await database
        .insertInto('deletion_feedback')
        .values({ month, ...why })
        .execute();
    },

    async countReturn(hash, limit, db) {
      const { rows } = await sql<{ wait_ms: number }>`
        WITH known AS MATERIALIZED (
          SELECT identity_hash, ARRAY(
            SELECT at FROM unnest(returns) AS at WHERE at > now() - interval '1 day' ORDER BY at
          ) AS recent
          FROM deleted_identities WHERE identity_hash = ${hash} FOR UPDATE
        ), counted AS (
          UPDATE deleted_identities d SET returns = k.recent || now() FROM known k
          WHERE d.identity_hash = k.identity_hash AND ${limit}::int > cardinality(k.recent)
        )
        SELECT extract(epoch FROM recent[cardinality(recent) - ${limit}::int + 1] + interval '1 day' - now())::float8 * 1000
          AS wait_ms
        FROM known WHERE ${limit}::int BETWEEN 1 AND cardinality(recent)`.execute(db);
      const [refused] = rows;
      return refused === undefined ? undefined : Math.ceil(refused.wait_ms);
    },

    async restore(hash, userId, period, db) {
      await rejectTokensOfDeleted(hash, userId, db);
      await sql`
        WITH kept AS (
          DELETE FROM deleted_usage WHERE identity_hash = ${hash} AND period >= ${period} RETURNING *
        )
        ${restoreUsage(userId, sql`kept`)}`.execute(db);
    },

    async prune(period) {
      const result = await database.deleteFrom('deleted_usage').where('period', '<', period).executeTakeFirst();
      return Number(result.numDeletedRows);
    },
  };
}
