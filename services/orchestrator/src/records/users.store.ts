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

export interface UserStore {
  find(
    identity: Pick<Identity, 'issuer' | 'subject'>,
    db?: Database,
  ): Promise<{ id: string; isBanned: boolean } | undefined>;
  /** @returns false if the identity already has a user */
  insert(user: { id: string } & Identity, db: Database): Promise<boolean>;
  get(userId: string): Promise<UserRow | undefined>;
  /** In the given order; undefined for an unknown user. */
  areBanned(userIds: readonly string[]): Promise<(boolean | undefined)[]>;
  update(userId: string, change: UserChange, db: Database): Promise<void>;
  /**
   * The time zone comes from the last seen device with a time zone, or else from the profile.
   *
   * @returns undefined if the user is deleted
   */
  reader(userId: string): Promise<Reader | undefined>;
  setEmail(userId: string, email: string, db: Database): Promise<void>;
  setAvatar(userId: string, url: string, db: Database): Promise<void>;
  /** Locks the user, so that no workspace can be added. @returns the ids of the user's workspaces */
  lockOwned(userId: string, db: Database): Promise<string[]>;
  delete(userId: string, db: Database): Promise<void>;
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

export function createUserStore(database: Database): UserStore {
  return {
    async find({ issuer, subject }, db = database) {
      const row = await db
        .selectFrom('users')
        .select(['id', 'is_banned'])
        .where('issuer', '=', issuer)
        .where('subject', '=', subject)
        .executeTakeFirst();
      return row === undefined ? undefined : { id: row.id, isBanned: row.is_banned };
    },

    async insert({ id, issuer, subject, email, name, givenName, familyName = '', picture = '' }, db) {
      const profile = { name: givenName ?? name, surname: familyName, avatar_url: picture };
      const result = await db
        .insertInto('users')
        .values({ id, issuer, subject, email, ...profile })
        .onConflict((conflict) => conflict.columns(['issuer', 'subject']).doNothing())
        .executeTakeFirst();
      return result.numInsertedOrUpdatedRows === 1n;
    },

    get: (userId) => database.selectFrom('users').select(COLUMNS).where('id', '=', userId).executeTakeFirst(),

    async areBanned(userIds) {
      const { rows } = await sql<{ id: string; is_banned: boolean }>`
        SELECT id, is_banned FROM users WHERE id = ANY(${[...userIds]}::uuid[])`.execute(database);
      const found = new Map(rows.map(({ id, is_banned }) => [id, is_banned]));
      return userIds.map((id) => found.get(id));
    },

    async update(userId, { preferences, date_of_birth: birth, ...fields }, db) {
      // As text in UTC: the driver writes a Date in local time, with an offset in whole minutes.
      const set = { ...fields, ...preferences, date_of_birth: birth === null ? null : birth?.toISOString() };
      await db
        .updateTable('users')
        .set({ ...set, updated_at: sql<Date>`now()` })
        .where('id', '=', userId)
        .execute();
    },

    async reader(userId) {
      const { rows } = await sql<{ reader: Reader }>`
        SELECT ${READER} AS reader FROM users u WHERE u.id = ${userId}`.execute(database);
      return rows[0]?.reader;
    },

    async setEmail(userId, email, db) {
      await db.updateTable('users').set({ email }).where('id', '=', userId).where('email', '!=', email).execute();
    },

    async setAvatar(userId, url, db) {
      const changed = db.updateTable('users').set({ avatar_url: url }).where('avatar_url', '!=', url);
      await changed.where('id', '=', userId).execute();
    },

    async lockOwned(userId, db) {
      await db.selectFrom('users').select('id').where('id', '=', userId).forUpdate().execute();
      const workspaces = await db.selectFrom('workspaces').select('id').where('owner_id', '=', userId).execute();
      return workspaces.map(({ id }) => id);
    },

    async delete(userId, db) {
      await deleteUsage(userId, db);
      await db.deleteFrom('users').where('id', '=', userId).execute();
      // The audit log keeps the actions without the user's identity.
      await sql`SELECT forget_user_in_audit(${userId})`.execute(db);
    },
  };
}

/** @returns true if this changes the user; undefined if the user does not exist */
export async function setBanned(userId: string, banned: boolean, db: Database): Promise<boolean | undefined> {
  const user = await db.selectFrom('users').select('is_banned').where('id', '=', userId).forUpdate().executeTakeFirst();
  if (user === undefined || user.is_banned === banned) return user === undefined ? undefined : false;
  await db.updateTable('users').set({ is_banned: banned }).where('id', '=', userId).execute();
  return true;
}

/** @returns false if the user does not exist */
export async function setPlan(userId: string, code: string, expiresAt: Date | null, db: Database): Promise<boolean> {
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
  userId: string,
  { document, version }: { document: LegalDocumentName; version: string },
  db: Database,
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
export async function rejectTokens(userId: string, issuedAt: Date | null, db: Database): Promise<void> {
  await sql`
    UPDATE users SET sessions_valid_after = greatest(sessions_valid_after, now(), ${issuedAt}::timestamptz)
    WHERE id = ${userId}`.execute(db);
}

/** Rejects the tokens that were rejected when the identity's previous user was deleted. */
export async function rejectTokensOfDeleted(identityHash: Buffer, userId: string, db: Database): Promise<void> {
  await sql`
    UPDATE users u SET sessions_valid_after = d.sessions_valid_after
    FROM deleted_identities d WHERE d.identity_hash = ${identityHash} AND u.id = ${userId}`.execute(db);
}
