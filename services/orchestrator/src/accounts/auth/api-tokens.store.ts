import { sql } from 'kysely';
import type { TokenScope } from '@uswarm/contract';
import type { Database } from '../../platform/database/database.js';

export interface ApiTokenRow {
  id: string;
  name: string;
  scopes: string[];
  workspace_ids: string[] | null;
  created_at: Date;
  expires_at: Date;
  last_used_at: Date | null;
}

export interface NewTokenRow {
  id: string;
  userId: string;
  tokenHash: Buffer;
  name: string;
  scopes: readonly TokenScope[];
  workspaceIds: readonly string[] | null;
  expiresAt: Date;
}

/** A token with its user, as a request presents it. */
export interface PresentedToken {
  id: string;
  scopes: string[];
  workspace_ids: string[] | null;
  expires_at: Date;
  is_expired: boolean;
  /** The last use is not recorded yet, or long ago. */
  is_use_due: boolean;
  user_id: string;
  issuer: string;
  subject: string;
  email: string;
  user_name: string;
  is_banned: boolean;
}

/** Most requests do not write the last use. */
const USE_RECORDED_EVERY = sql`interval '10 minutes'`;

const USE_IS_DUE = sql<boolean>`coalesce(last_used_at < now() - ${USE_RECORDED_EVERY}, true)`;

const COLUMNS = ['id', 'name', 'scopes', 'workspace_ids', 'created_at', 'expires_at', 'last_used_at'] as const;

/** Newest first. */
export function listApiTokens(db: Database, userId: string): Promise<ApiTokenRow[]> {
  return db.selectFrom('api_tokens').select(COLUMNS).where('user_id', '=', userId).orderBy('id', 'desc').execute();
}

export async function countApiTokens(db: Database, userId: string): Promise<number> {
  const row = await db
    .selectFrom('api_tokens')
    .select(({ fn }) => fn.countAll<number>().as('tokens'))
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow();
  return row.tokens;
}

export async function deleteExpiredApiTokens(db: Database, userId: string): Promise<void> {
  await sql`DELETE FROM api_tokens WHERE user_id = ${userId} AND expires_at <= now()`.execute(db);
}

export function insertApiToken(
  db: Database,
  { id, userId, tokenHash, name, scopes, workspaceIds, expiresAt }: NewTokenRow,
): Promise<ApiTokenRow> {
  return db
    .insertInto('api_tokens')
    .values({
      id,
      user_id: userId,
      token_hash: tokenHash,
      name,
      scopes: [...scopes],
      workspace_ids: workspaceIds === null ? null : [...workspaceIds],
      expires_at: expiresAt,
    })
    .returning(COLUMNS)
    .executeTakeFirstOrThrow();
}

/** Undefined if the user has no such token. */
export function deleteApiToken(
  db: Database,
  userId: string,
  id: string,
): Promise<{ token_hash: Buffer; expires_at: Date } | undefined> {
  return db
    .deleteFrom('api_tokens')
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .returning(['token_hash', 'expires_at'])
    .executeTakeFirst();
}

/** Finds by hash, so the time that it takes tells nothing about stored secrets. */
export async function findPresentedToken(db: Database, tokenHash: Buffer): Promise<PresentedToken | undefined> {
  const { rows } = await sql<PresentedToken>`
    SELECT t.id, t.scopes, t.workspace_ids, t.expires_at, t.expires_at <= now() AS is_expired, ${USE_IS_DUE} AS is_use_due,
      u.id AS user_id, u.issuer, u.subject, u.email, u.name AS user_name, u.is_banned
    FROM api_tokens t JOIN users u ON u.id = t.user_id
    WHERE t.token_hash = ${tokenHash}`.execute(db);
  return rows[0];
}

/** Unless it was recorded recently. @returns true for the first use */
export async function recordApiTokenUse(db: Database, id: string): Promise<boolean> {
  const { rows } = await sql<{ is_first: boolean }>`
    UPDATE api_tokens t SET last_used_at = now()
    FROM (SELECT id, last_used_at FROM api_tokens WHERE id = ${id} AND ${USE_IS_DUE} FOR UPDATE) AS before
    WHERE t.id = before.id
    RETURNING before.last_used_at IS NULL AS is_first`.execute(db);
  return rows[0]?.is_first === true;
}
