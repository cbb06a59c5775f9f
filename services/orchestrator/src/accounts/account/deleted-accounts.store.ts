import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { restoreUsage } from '../../records/usage-rows.js';
import { rejectTokensOfDeleted } from '../../records/users.store.js';

export async function wasAccountDeleted(db: Database, hashes: readonly Buffer[]): Promise<boolean> {
  const row = await db
    .selectFrom('deleted_identities')
    .select('deleted_at')
    .where('identity_hash', 'in', hashes)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Moves rows from hashes with previous keys to the current hash. */
export async function renameDeletedIdentity(db: Database, from: readonly Buffer[], to: Buffer): Promise<void> {
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
}

/**
 * Stores the usage since the start of `period` and the time from which tokens are valid. Call it before the user is
 * deleted, in the same transaction.
 */
export async function rememberDeletedIdentity(
  db: Database,
  hash: Buffer,
  userId: string,
  period: string,
): Promise<void> {
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
}

/**
 * Uses a separate transaction: rows from one transaction can be correlated, and the text must not be linkable to the
 * identity.
 */
export async function addDeletionFeedback(
  db: Database,
  month: string,
  why: { reason: string; description: string },
): Promise<void> {
  await db
    .insertInto('deletion_feedback')
    .values({ month, ...why })
    .execute();
}

/**
 * Counts a sign-up after a deletion; 0 disables the limit.
 *
 * @returns ms until the next sign-up is allowed, if `limit` was reached within a day
 */
export async function countReturn(db: Database, hash: Buffer, limit: number): Promise<number | undefined> {
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
}

/** Gives the new user the data stored by `remember`. */
export async function restoreDeletedIdentity(
  db: Database,
  hash: Buffer,
  userId: string,
  period: string,
): Promise<void> {
  await rejectTokensOfDeleted(db, hash, userId);
  await sql`
    WITH kept AS (
      DELETE FROM deleted_usage WHERE identity_hash = ${hash} AND period >= ${period} RETURNING *
    )
    ${restoreUsage(userId, sql`kept`)}`.execute(db);
}

/** Deletes usage from before `period`. @returns the number of deleted rows */
export async function pruneDeletedIdentities(db: Database, period: string): Promise<number> {
  const result = await db.deleteFrom('deleted_usage').where('period', '<', period).executeTakeFirst();
  return Number(result.numDeletedRows);
}
