import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { TriggerRow } from './schedule-rows.js';

/** An encrypted signing secret. */
export interface TriggerSecretRow {
  userId: string;
  provider: string;
  keyId: string;
  sealed: Buffer;
}

/** A trigger as a request to its URL needs it. */
export interface OpenedTrigger {
  id: string;
  workspaceId: string;
  userId: string;
  isBanned: boolean;
  secret: TriggerSecretRow | undefined;
}

export async function findByUrlSecret(db: Database, secretHash: Buffer): Promise<OpenedTrigger | undefined> {
  const { rows } = await sql<
    Omit<OpenedTrigger, 'secret'> & { provider: string | null; keyId: string; sealed: Buffer; sealedFor: string }
  >`
    SELECT s.id, s.workspace_id AS "workspaceId", u.id AS "userId", u.is_banned AS "isBanned", k.provider, k.key_id AS "keyId",
      k.tokens AS sealed, k.user_id AS "sealedFor"
    FROM schedules s JOIN workspaces w ON w.id = s.workspace_id JOIN users u ON u.id = w.owner_id
    LEFT JOIN trigger_secrets k ON k.id = s.id
    WHERE s.secret_hash = ${secretHash}`.execute(db);
  const [row] = rows;
  if (row === undefined) return undefined;
  const { provider, keyId, sealed, sealedFor, ...trigger } = row;
  return { ...trigger, secret: provider === null ? undefined : { userId: sealedFor, provider, keyId, sealed } };
}

/** @returns the triggers whose requests must be signed */
export async function findSigned(db: Database, ids: readonly string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set();
  const rows = await db
    .selectFrom('trigger_secrets')
    .select('id')
    .where('id', 'in', [...ids])
    .execute();
  return new Set(rows.map(({ id }) => id));
}

export async function replaceSigningSecret(
  db: Database,
  { id }: Pick<TriggerRow, 'id'>,
  { userId, provider, keyId, sealed }: TriggerSecretRow,
): Promise<void> {
  const sealedSecret = { user_id: userId, provider, key_id: keyId, tokens: sealed };
  await db
    .insertInto('trigger_secrets')
    .values({ id, ...sealedSecret })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(sealedSecret))
    .execute();
}

export async function deleteSigningSecret(db: Database, id: string): Promise<void> {
  await db.deleteFrom('trigger_secrets').where('id', '=', id).execute();
}
