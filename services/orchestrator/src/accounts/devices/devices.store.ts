import { createHash } from 'node:crypto';
import type { PushKeys, PushService } from '@uswarm/contract';
import type { Device } from '@uswarm/service-kit';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { createWithTransaction } from '../../platform/database/transaction.js';

export interface DeviceRow {
  info: string;
  app_version: string;
  timezone: string;
  has_push_token: boolean;
  last_seen_at: Date;
}

export interface NewPushToken {
  token: string;
  service: PushService;
  /** Null unless the device is a browser. */
  keys: PushKeys | null;
}

const NO_TOKEN = { push_token: null, push_token_hash: null, push_keys: null };

/** The last event that a device has received in a workspace. */
export interface DevicePosition {
  user_id: string;
  device_id: string;
  workspace_id: string;
  seq: number;
}

/** Keeps stored values that are absent from the request. Deletes the least recently seen devices above `limit`. */
export async function recordDevice(
  db: Database,
  userId: string,
  { id, info, version, timezone }: Device,
  limit: number,
): Promise<void> {
  const { rows } = await sql<{ added: boolean }>`
    INSERT INTO devices AS d (user_id, device_id, info, app_version, timezone)
    VALUES (${userId}, ${id}, ${info}, ${version}, ${timezone})
    ON CONFLICT (user_id, device_id) DO UPDATE SET
      info = coalesce(nullif(excluded.info, ''), d.info),
      app_version = coalesce(nullif(excluded.app_version, ''), d.app_version),
      timezone = coalesce(nullif(excluded.timezone, ''), d.timezone),
      last_seen_at = now()
    RETURNING xmax = 0 AS added`.execute(db);
  if (rows[0]?.added === true) await deleteOldest(db, userId, limit);
}

/**
 * Sets a device's push token and removes it from all other devices. Deletes devices above `limit`, as `record` does.
 */
export function setPushToken(
  db: Database,
  userId: string,
  deviceId: string,
  { token: pushToken, service, keys }: NewPushToken,
  limit: number,
): Promise<void> {
  return createWithTransaction(db)(async (tx) => {
    const hash = createHash('sha256').update(pushToken).digest();
    // Serializes concurrent requests with the same token: the last one keeps it.
    await sql`SELECT pg_advisory_xact_lock(hashtextextended(${hash.toString('hex')}, 2))`.execute(tx);
    await tx
      .updateTable('devices')
      .set(NO_TOKEN)
      .where('push_token_hash', '=', hash)
      .where((eb) => eb.or([eb('user_id', '!=', userId), eb('device_id', '!=', deviceId)]))
      .execute();
    const token = {
      push_token: pushToken,
      push_token_hash: hash,
      push_service: service,
      push_keys: keys === null ? null : JSON.stringify(keys),
    };
    await tx
      .insertInto('devices')
      .values({ user_id: userId, device_id: deviceId, ...token })
      .onConflict((conflict) =>
        conflict.columns(['user_id', 'device_id']).doUpdateSet({ ...token, last_seen_at: sql`now()` }),
      )
      .execute();
    await deleteOldest(tx, userId, limit);
  });
}

export async function forgetPushToken(db: Database, userId: string, deviceId: string): Promise<void> {
  await db
    .updateTable('devices')
    .set(NO_TOKEN)
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .execute();
}

export async function forgetPushTokens(db: Database, userId: string): Promise<void> {
  await db
    .updateTable('devices')
    .set(NO_TOKEN)
    .where('user_id', '=', userId)
    .where('push_token', 'is not', null)
    .execute();
}

export async function listDevices(db: Database, userId: string): Promise<DeviceRow[]> {
  return db
    .selectFrom('devices')
    .select(['info', 'app_version', 'timezone', 'last_seen_at'])
    .select(sql<boolean>`push_token IS NOT NULL`.as('has_push_token'))
    .where('user_id', '=', userId)
    .orderBy('last_seen_at', 'desc')
    .execute();
}

/** Ignores unknown devices and other users' workspaces. */
export async function setDevicePositions(db: Database, positions: readonly DevicePosition[]): Promise<void> {
  if (positions.length === 0) return;
  // A lower position replaces a higher one: it belongs to a new epoch, or is late and causes a notification too
  // many.
  await sql`
    WITH reported AS MATERIALIZED (
      SELECT d.user_id, d.device_id, w.id AS workspace_id, r.seq
      FROM unnest(
        ${positions.map(({ user_id }) => user_id)}::uuid[],
        ${positions.map(({ device_id }) => device_id)}::text[],
        ${positions.map(({ workspace_id }) => workspace_id)}::uuid[],
        ${positions.map(({ seq }) => seq)}::bigint[]
      ) AS r (user_id, device_id, workspace_id, seq)
      JOIN devices d ON d.user_id = r.user_id AND d.device_id = r.device_id
      JOIN workspaces w ON w.id = r.workspace_id AND w.owner_id = r.user_id
      WHERE r.seq <= w.last_seq
      -- Skips devices and workspaces that are being deleted.
      FOR KEY SHARE OF d, w
    )
    INSERT INTO device_positions (user_id, device_id, workspace_id, seq)
    SELECT user_id, device_id, workspace_id, max(seq) FROM reported
    GROUP BY user_id, device_id, workspace_id
    ORDER BY user_id, device_id, workspace_id
    ON CONFLICT (user_id, device_id, workspace_id) DO UPDATE SET seq = excluded.seq, at = now()`.execute(db);
}

async function deleteOldest(db: Database, userId: string, limit: number): Promise<void> {
  await sql`
    DELETE FROM devices WHERE user_id = ${userId} AND device_id IN (
      SELECT device_id FROM devices WHERE user_id = ${userId} ORDER BY last_seen_at DESC, device_id OFFSET ${limit}
    )`.execute(db);
}

/** Has no effect if the device has another token now. */
export async function dropPushToken(
  db: Database,
  userId: string,
  { deviceId, token }: { deviceId: string; token: string },
): Promise<void> {
  await db
    .updateTable('devices')
    .set({ push_token: null, push_token_hash: null, push_keys: null })
    .where('user_id', '=', userId)
    .where('device_id', '=', deviceId)
    .where('push_token', '=', token)
    .execute();
}
