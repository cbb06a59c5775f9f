import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { Identity } from './actor.js';

export interface KnownUser {
  id: string;
  isBanned: boolean;
}

export interface Caller {
  user: KnownUser | undefined;
  /** True if the credential was logged out, individually or with all others. */
  revoked: boolean;
}

/** As reported by a gateway. */
export interface OpenSession {
  user_id: string;
  /** Hexadecimal; null if the credential cannot be revoked. */
  token_hash: string | null;
  /** Absent or null if unknown. */
  issued_at?: string | null | undefined;
}

/** Longer than the allowed clock difference to issuers. */
const FORGET_AFTER = sql`interval '10 minutes'`;
const REVOKED_TOKENS_BATCH = 100;

/** One statement, because every request starts with it. */
export async function lookUpCaller(
  db: Database,
  { issuer, subject, issuedAt }: Pick<Identity, 'issuer' | 'subject' | 'issuedAt'>,
  tokenHash: Buffer | null,
): Promise<Caller> {
  const { rows } = await sql<{ id: string | null; is_banned: boolean | null; revoked: boolean }>`
    SELECT u.id, u.is_banned,
      EXISTS (SELECT FROM revoked_tokens r WHERE r.token_hash = ${tokenHash}::bytea)
        OR coalesce(coalesce(${issuedAt}::timestamptz, '-infinity') <= u.sessions_valid_after, false) AS revoked
    FROM (SELECT) AS caller
    LEFT JOIN users u ON u.issuer = ${issuer} AND u.subject = ${subject}`.execute(db);
  const { id = null, is_banned = null, revoked = false } = rows[0] ?? {};
  return { user: id === null ? undefined : { id, isBanned: is_banned === true }, revoked };
}

export async function isTokenRevoked(db: Database, tokenHash: Buffer): Promise<boolean> {
  const row = await db
    .selectFrom('revoked_tokens')
    .select('token_hash')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst();
  return row !== undefined;
}

/** Rejects the token until it expires, and deletes some entries for expired tokens. */
export async function revokeToken(db: Database, tokenHash: Buffer, expiresAt: Date): Promise<void> {
  await db
    .insertInto('revoked_tokens')
    .values({ token_hash: tokenHash, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column('token_hash').doNothing())
    .execute();
  // Skip rows that a concurrent logout is deleting.
  await sql`
    DELETE FROM revoked_tokens WHERE token_hash IN (
      SELECT token_hash FROM revoked_tokens WHERE expires_at < now() - ${FORGET_AFTER}
      ORDER BY expires_at LIMIT ${REVOKED_TOKENS_BATCH} FOR UPDATE SKIP LOCKED
    )`.execute(db);
}

/** @returns the index of each session whose user was deleted or banned, or whose token was revoked */
export async function findEndedSessions(db: Database, sessions: readonly OpenSession[]): Promise<number[]> {
  const users = sessions.map(({ user_id }) => user_id);
  const hashes = sessions.map(({ token_hash }) => token_hash);
  const issued = sessions.map(({ issued_at = null }) => issued_at);
  const { rows } = await sql<{ position: number }>`
    SELECT s.n - 1 AS position
    FROM unnest(${users}::uuid[], ${hashes}::text[], ${issued}::timestamptz[])
      WITH ORDINALITY AS s (user_id, token_hash, issued_at, n)
    LEFT JOIN users u ON u.id = s.user_id
    LEFT JOIN revoked_tokens r ON r.token_hash = decode(s.token_hash, 'hex')
    WHERE u.id IS NULL OR u.is_banned OR r.token_hash IS NOT NULL OR s.issued_at <= u.sessions_valid_after
    ORDER BY s.n`.execute(db);
  return rows.map(({ position }) => position);
}
