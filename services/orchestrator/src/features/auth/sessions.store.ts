import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { Identity } from './actor.js';

/** The user behind an identity, as far as letting it in is concerned. */
export interface KnownUser {
  id: string;
  isBanned: boolean;
}

/** What is stored of a caller. */
export interface Caller {
  user: KnownUser | undefined;
  /** The credential was logged out. */
  revoked: boolean;
}

/** A session as a gateway knows it. */
export interface OpenSession {
  user_id: string;
  /** In hex; null where the credential cannot be logged out. */
  token_hash: string | null;
}

export interface SessionStore {
  /** In one statement: every request begins with it. */
  look(identity: Pick<Identity, 'issuer' | 'subject'>, tokenHashes: readonly Buffer[]): Promise<Caller>;
  /** Refuses the token for as long as anybody could take it for a good one; forgets some that nobody can any more. */
  revoke(tokenHashes: readonly Buffer[], expiresAt: Date, db: Database): Promise<void>;
  /** Which of them are of a user that is gone or banned, or of a token that was logged out: their places, from 0. */
  ended(sessions: readonly OpenSession[]): Promise<number[]>;
}

/** More than the clocks of issuers may differ from ours. */
const FORGET_AFTER = sql`interval '10 minutes'`;
const FORGOTTEN_AT_ONCE = 100;

export function createSessionStore(database: Database): SessionStore {
  return {
    async look({ issuer, subject }, tokenHashes) {
      const { rows } = await sql<{ id: string | null; is_banned: boolean | null; revoked: boolean }>`
        SELECT u.id, u.is_banned,
          EXISTS (SELECT FROM revoked_tokens r WHERE r.token_hash = ANY (${tokenHashes}::bytea[])) AS revoked
        FROM (SELECT) AS caller
        LEFT JOIN users u ON u.issuer = ${issuer} AND u.subject = ${subject}`.execute(database);
      const { id = null, is_banned = null, revoked = false } = rows[0] ?? {};
      return { user: id === null ? undefined : { id, isBanned: is_banned === true }, revoked };
    },

    async revoke(tokenHashes, expiresAt, db) {
      await db
        .insertInto('revoked_tokens')
        .values(tokenHashes.map((token_hash) => ({ token_hash, expires_at: expiresAt })))
        .onConflict((conflict) => conflict.column('token_hash').doNothing())
        .execute();
      // Whom another logout is forgetting just now it need not wait for.
      await sql`
        DELETE FROM revoked_tokens WHERE token_hash IN (
          SELECT token_hash FROM revoked_tokens WHERE expires_at < now() - ${FORGET_AFTER}
          ORDER BY expires_at LIMIT ${FORGOTTEN_AT_ONCE} FOR UPDATE SKIP LOCKED
        )`.execute(db);
    },

    async ended(sessions) {
      const users = sessions.map(({ user_id }) => user_id);
      const hashes = sessions.map(({ token_hash }) => token_hash);
      const { rows } = await sql<{ place: number }>`
        SELECT s.n - 1 AS place
        FROM unnest(${users}::uuid[], ${hashes}::text[]) WITH ORDINALITY AS s (user_id, token_hash, n)
        LEFT JOIN users u ON u.id = s.user_id
        LEFT JOIN revoked_tokens r ON r.token_hash = decode(s.token_hash, 'hex')
        WHERE u.id IS NULL OR u.is_banned OR r.token_hash IS NOT NULL
        ORDER BY s.n`.execute(database);
      return rows.map(({ place }) => place);
    },
  };
}
