import { LIMITS } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../database/database.js';

export interface UsedKey {
  /** The subject that the first request created. */
  subjectId: string;
  requestHash: Buffer;
}

export interface KeyUse extends UsedKey {
  userId: string;
  keyHash: Buffer;
}

const OLDEST_VALID = sql`now() - make_interval(hours => ${LIMITS.idempotencyKeptHours})`;

export async function findUsedKey(db: Database, userId: string, keyHash: Buffer): Promise<UsedKey | undefined> {
  const { rows } = await sql<UsedKey>`
    SELECT subject_id AS "subjectId", request_hash AS "requestHash" FROM idempotency_keys
    WHERE user_id = ${userId} AND key_hash = ${keyHash} AND created_at > ${OLDEST_VALID}`.execute(db);
  return rows[0];
}

const stored = ({ userId, keyHash, requestHash, subjectId }: KeyUse) => sql`
  INSERT INTO idempotency_keys (user_id, key_hash, request_hash, subject_id)
  VALUES (${userId}, ${keyHash}, ${requestHash}, ${subjectId})
  ON CONFLICT (user_id, key_hash) DO UPDATE
    SET request_hash = excluded.request_hash, subject_id = excluded.subject_id, created_at = now()`;

/**
 * Waits for concurrent transactions with the same key. A transaction that needs a stronger lock on the user must take
 * it first: the foreign key takes only a weaker one.
 *
 * @returns false if the key was used before
 */
export async function insertUsedKey(db: Database, use: KeyUse): Promise<boolean> {
  const { rows } = await sql`
    ${stored(use)} WHERE idempotency_keys.created_at <= ${OLDEST_VALID} RETURNING 1`.execute(db);
  return rows.length === 1;
}

/** As `insertUsedKey`, but the key's last use counts. */
export async function replaceUsedKey(db: Database, use: KeyUse): Promise<void> {
  await stored(use).execute(db);
}

/** Keeps a later use of the key. */
export async function deleteUsedKey(db: Database, { userId, keyHash, subjectId }: KeyUse): Promise<void> {
  await sql`
    DELETE FROM idempotency_keys
    WHERE user_id = ${userId} AND key_hash = ${keyHash} AND subject_id = ${subjectId}`.execute(db);
}

/** Deletes up to `limit` keys older than `before`. @returns the number of deleted keys */
export async function pruneUsedKeys(db: Database, before: Date, limit: number): Promise<number> {
  const { rows } = await sql<{ removed: number }>`
    WITH old AS (
      SELECT user_id, key_hash FROM idempotency_keys
      WHERE created_at < ${before} ORDER BY created_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ), removed AS (
      DELETE FROM idempotency_keys k USING old
      WHERE k.user_id = old.user_id AND k.key_hash = old.key_hash RETURNING 1
    )
    SELECT count(*) AS removed FROM removed`.execute(db);
  return rows[0]?.removed ?? 0;
}
