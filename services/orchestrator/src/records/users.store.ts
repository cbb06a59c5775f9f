import type { LegalDocumentName, UserPatch } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { Identity } from '../accounts/auth/actor.js';
import { deleteUsage } from './usage-rows.js';

export interface UserRow {
  id: string;
  email: string;
  subject: string;
  nickname: string;
  name: string;
  surname: string;
  avatar_url: string;
  country_code: string;
  date_of_birth: Date | null;
  platform_theme: string;
  platform_language: string;
  currency_code: string;
  time_zone: string;
  plan_code: string;
  plan_expires_at: Date | null;
  accepted_terms_version: string | null;
  accepted_privacy_version: string | null;
  is_banned: boolean;
  created_at: Date;
}

/** Absent fields do not change. */
export type UserChange = Omit<UserPatch, 'date_of_birth'> & { date_of_birth?: Date | null };

/** As agents receive it. Unknown fields are empty. */
export interface Reader {
  name: string;
  /** BCP 47. */
  language: string;
  /** IANA name. */
  time_zone: string;
}

export const READER = sql<Reader>`jsonb_build_object(
  'name', coalesce(nullif(u.nickname, ''), u.name),
  'language', u.platform_language,
  'time_zone', coalesce((
    SELECT d.timezone FROM devices d WHERE d.user_id = u.id AND d.timezone <> '' ORDER BY d.last_seen_at DESC LIMIT 1
  ), u.time_zone)
)`;

const COLUMNS = [
  'id',
  'email',
  'subject',
  'nickname',
  'name',
  'surname',
  'avatar_url',
  'country_code',
  'date_of_birth',
  'platform_theme',
  'platform_language',
  'currency_code',
  'time_zone',
  'plan_code',
  'plan_expires_at',
  'accepted_terms_version',
  'accepted_privacy_version',
  'is_banned',
  'created_at',
] as const;

export async function findUser(
  db: Database,
  { issuer, subject }: Pick<Identity, 'issuer' | 'subject'>,
): Promise<{ id: string; isBanned: boolean } | undefined> {
  const row = await db
    .selectFrom('users')
    .select(['id', 'is_banned'])
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst();
  return row === undefined ? undefined : { id: row.id, isBanned: row.is_banned };
}

/** @returns false if the identity already has a user */
export async function insertUser(
  db: Database,
  { id, issuer, subject, email, name, givenName, familyName = '', picture = '' }: { id: string } & Identity,
): Promise<boolean> {
  const profile = { name: givenName ?? name, surname: familyName, avatar_url: picture };
  const result = await db
    .insertInto('users')
    .values({ id, issuer, subject, email, ...profile })
    .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
    .executeTakeFirst();
  return result.numInsertedOrUpdatedRows === 1n;
}

export function getUser(db: Database, userId: string): Promise<UserRow | undefined> {
  return db.selectFrom('users').select(COLUMNS).where('id', '=', userId).executeTakeFirst();
}

/** In the given order; undefined for an unknown user. */
export async function areUsersBanned(db: Database, userIds: readonly string[]): Promise<(boolean | undefined)[]> {
  const { rows } = await sql<{ id: string; is_banned: boolean }>`
    SELECT id, is_banned FROM users WHERE id = ANY(${[...userIds]}::uuid[])`.execute(db);
  const found = new Map(rows.map(({ id, is_banned }) => [id, is_banned]));
  return userIds.map((id) => found.get(id));
}

export async function updateUser(
  db: Database,
  userId: string,
  { preferences, date_of_birth: birth, ...fields }: UserChange,
): Promise<void> {
  // As text in UTC: the driver writes a Date in local time, with an offset in whole minutes.
  const set = { ...fields, ...preferences, date_of_birth: birth === null ? null : birth?.toISOString() };
  await db
    .updateTable('users')
    .set({ ...set, updated_at: sql<Date>`now()` })
    .where('id', '=', userId)
    .execute();
}

/**
 * The time zone comes from the last seen device with a time zone, or else from the profile.
 *
 * @returns undefined if the user is deleted
 */
export async function findReader(db: Database, userId: string): Promise<Reader | undefined> {
  const { rows } = await sql<{ reader: Reader }>`
    SELECT ${READER} AS reader FROM users u WHERE u.id = ${userId}`.execute(db);
  return rows[0]?.reader;
}

export async function setUserEmail(db: Database, userId: string, email: string): Promise<void> {
  await db.updateTable('users').set({ email }).where('id', '=', userId).where('email', '!=', email).execute();
}

export async function setUserAvatar(db: Database, userId: string, url: string): Promise<void> {
  const changed = db.updateTable('users').set({ avatar_url: url }).where('avatar_url', '!=', url);
  await changed.where('id', '=', userId).execute();
}

/** Locks the user, so that no workspace can be added. @returns the ids of the user's workspaces */
export async function lockOwnedWorkspaces(db: Database, userId: string): Promise<string[]> {
  await db.selectFrom('users').select('id').where('id', '=', userId).forUpdate().execute();
  const workspaces = await db.selectFrom('workspaces').select('id').where('owner_id', '=', userId).execute();
  return workspaces.map(({ id }) => id);
}

export async function deleteUser(db: Database, userId: string): Promise<void> {
  await deleteUsage(db, userId);
  await db.deleteFrom('users').where('id', '=', userId).execute();
  // The audit log keeps the actions without the user's identity.
  await sql`SELECT forget_user_in_audit(${userId})`.execute(db);
}

/** @returns true if this changes the user; undefined if the user does not exist */
export async function setBanned(db: Database, userId: string, banned: boolean): Promise<boolean | undefined> {
  const user = await db.selectFrom('users').select('is_banned').where('id', '=', userId).forUpdate().executeTakeFirst();
  if (user === undefined || user.is_banned === banned) return user === undefined ? undefined : false;
  await db.updateTable('users').set({ is_banned: banned }).where('id', '=', userId).execute();
  return true;
}

/** @returns false if the user does not exist */
export async function setPlan(db: Database, userId: string, code: string, expiresAt: Date | null): Promise<boolean> {
  const result = await db
    .updateTable('users')
    .set({ plan_code: code, plan_expires_at: expiresAt })
    .where('id', '=', userId)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

const ACCEPTED_COLUMN = {
  terms_of_service: 'accepted_terms_version',
  privacy_policy: 'accepted_privacy_version',
} as const satisfies Record<LegalDocumentName, string>;

export async function setAcceptedVersion(
  db: Database,
  userId: string,
  { document, version }: { document: LegalDocumentName; version: string },
): Promise<void> {
  await db
    .updateTable('users')
    .set({ [ACCEPTED_COLUMN[document]]: version })
    .where('id', '=', userId)
    .execute();
}

/**
 * Rejects all tokens issued to the user until now, or until `issuedAt` if that is later: the issuer's clock may be ahead.
 * Tokens contain whole seconds, so a token from the same second counts as issued before.
 */
export async function rejectTokens(db: Database, userId: string, issuedAt: Date | null): Promise<void> {
  await sql`
    UPDATE users SET sessions_valid_after = greatest(sessions_valid_after, now(), ${issuedAt}::timestamptz)
    WHERE id = ${userId}`.execute(db);
}

/** Rejects the tokens that were rejected when the identity's previous user was deleted. */
export async function rejectTokensOfDeleted(db: Database, identityHash: Buffer, userId: string): Promise<void> {
  await sql`
    UPDATE users u SET sessions_valid_after = d.sessions_valid_after
    FROM deleted_identities d WHERE d.identity_hash = ${identityHash} AND u.id = ${userId}`.execute(db);
}
