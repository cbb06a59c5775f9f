import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import type { KnownState } from '../apps/integrations/oauth-states.js';
import type { SealedTokens } from '../apps/integrations/token-cipher.js';

export interface SealedRow extends SealedTokens {
  id: string;
  userId: string;
  provider: string;
}

/** Expiry and due time for renewal. Null: never. */
export interface Validity {
  expiresAt: Date | null;
  refreshAt: Date | null;
}

export interface ConnectionRow extends SealedRow, Validity {}

/** Scopes that not all users are asked for. */
export interface ConnectionScopes {
  /** By tool. */
  needed: Record<string, readonly string[]>;
  /** The user was asked for these when the account was connected. */
  asked: readonly string[];
}

export interface RevocationRow extends SealedRow {
  ageMs: number;
}

export type SealedTable = 'integrations' | 'integration_revocations' | 'webhook_secrets' | 'trigger_secrets';

const SEALED = ['id', 'user_id as userId', 'provider', 'key_id as keyId', 'tokens as sealed'] as const;
/** An expired token that cannot be renewed is of no use: the user must connect again. */
const isUsable = sql<boolean>`(i.expires_at IS NULL OR i.expires_at > now() OR i.refresh_at IS NOT NULL)`;
const CONNECTION = [...SEALED, 'expires_at as expiresAt', 'refresh_at as refreshAt'] as const;

const SCOPES = ['needed_scopes as needed', 'asked_scopes as asked'] as const;

const connections = (db: Database) => db.selectFrom('integrations').select(CONNECTION);

/** Omits expired tokens that cannot be renewed. */
export async function listConnectedApps(db: Database, userId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('integrations as i')
    .select('i.provider')
    .where('i.user_id', '=', userId)
    .where(isUsable)
    .execute();
  return rows.map(({ provider }) => provider);
}

/** Like `connected`, for the agent's owner. */
export async function listConnectedAppsOfAgent(db: Database, agentId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('integrations as i')
    .innerJoin('workspaces as w', 'w.owner_id', 'i.user_id')
    .innerJoin('agents as a', 'a.workspace_id', 'w.id')
    .select('i.provider')
    .where('a.id', '=', agentId)
    .where(isUsable)
    .execute();
  return rows.map(({ provider }) => provider);
}

export async function hasAuthorizationCode(
  db: Database,
  userId: string,
  provider: string,
  codeHash: Buffer,
): Promise<boolean> {
  const row = await db
    .selectFrom('integrations')
    .select('id')
    .where('user_id', '=', userId)
    .where('provider', '=', provider)
    .where('code_hash', '=', codeHash)
    .executeTakeFirst();
  return row !== undefined;
}

/** Binds a state to this code. @returns false if the state was used for another code */
export async function claimAuthorizationState(
  db: Database,
  { nonce, expiresAt }: KnownState,
  codeHash: Buffer,
): Promise<boolean> {
  await db
    .deleteFrom('integration_states')
    .where('expires_at', '<', sql<Date>`now()`)
    .execute();
  const row = await db
    .insertInto('integration_states')
    .values({ nonce, code_hash: codeHash, expires_at: expiresAt })
    // The same code is a retry. The provider decides whether to accept it.
    .onConflict((conflict) =>
      conflict
        .column('nonce')
        .doUpdateSet({ expires_at: expiresAt })
        .where('integration_states.code_hash', '=', codeHash),
    )
    .returning('nonce')
    .executeTakeFirst();
  return row !== undefined;
}

export async function insertIntegration(
  db: Database,
  row: ConnectionRow & { codeHash: Buffer; askedScopes?: readonly string[] },
): Promise<void> {
  const { id, userId, provider, keyId, sealed, codeHash, expiresAt, refreshAt, askedScopes = [] } = row;
  const owner = { id, user_id: userId, provider };
  const validity = { expires_at: expiresAt, refresh_at: refreshAt };
  await db
    .insertInto('integrations')
    .values({
      ...owner,
      key_id: keyId,
      tokens: sealed,
      code_hash: codeHash,
      asked_scopes: [...askedScopes],
      ...validity,
    })
    .execute();
}

export function findIntegration(db: Database, id: string): Promise<ConnectionRow | undefined> {
  return connections(db).where('id', '=', id).executeTakeFirst();
}

export function findIntegrationOf(db: Database, userId: string, provider: string): Promise<ConnectionRow | undefined> {
  return connections(db).where('user_id', '=', userId).where('provider', '=', provider).executeTakeFirst();
}

export function findConnectionScopes(
  db: Database,
  userId: string,
  provider: string,
): Promise<ConnectionScopes | undefined> {
  return db
    .selectFrom('integrations')
    .select(SCOPES)
    .where('user_id', '=', userId)
    .where('provider', '=', provider)
    .executeTakeFirst();
}

/** All of them, to ask the user for. */
export const extraScopes = ({ needed, asked }: ConnectionScopes): string[] => [
  ...new Set([...asked, ...Object.values(needed).flat()]),
];

export async function storeNeededScopes(
  db: Database,
  { userId, provider }: Pick<SealedRow, 'userId' | 'provider'>,
  tool: string,
  scopes: readonly string[],
): Promise<void> {
  await db
    .updateTable('integrations')
    .set({ needed_scopes: sql<string>`needed_scopes || ${JSON.stringify({ [tool]: scopes })}::jsonb` })
    .where('user_id', '=', userId)
    .where('provider', '=', provider)
    .execute();
}

/** Like `find`, and locks the connection. */
export function lockIntegration(db: Database, id: string): Promise<ConnectionRow | undefined> {
  return connections(db).where('id', '=', id).forUpdate().executeTakeFirst();
}

/** Call it after `lock`. */
export async function renewIntegration(
  db: Database,
  id: string,
  { keyId, sealed, expiresAt, refreshAt }: SealedTokens & Validity,
): Promise<void> {
  const validity = { expires_at: expiresAt, refresh_at: refreshAt };
  await db
    .updateTable('integrations')
    .set({ key_id: keyId, tokens: sealed, ...validity, updated_at: sql<Date>`now()` })
    .where('id', '=', id)
    .execute();
}

/** Deletes the user's connection to one provider, or all connections. @returns the deleted rows */
export function dropIntegrations(db: Database, userId: string, provider: string | undefined): Promise<SealedRow[]> {
  const all = db.deleteFrom('integrations').where('user_id', '=', userId);
  return (provider === undefined ? all : all.where('provider', '=', provider)).returning(SEALED).execute();
}

/** Call it after `lock`. */
export async function deleteIntegration(db: Database, id: string): Promise<void> {
  await db.deleteFrom('integrations').where('id', '=', id).execute();
}

export async function insertRevocation(
  db: Database,
  { id, userId, provider, keyId, sealed }: SealedRow,
): Promise<void> {
  await db
    .insertInto('integration_revocations')
    .values({ id, user_id: userId, provider, key_id: keyId, tokens: sealed })
    .execute();
}

export function findRevocation(db: Database, id: string): Promise<RevocationRow | undefined> {
  return db
    .selectFrom('integration_revocations')
    .select([...SEALED, sql<number>`(extract(epoch FROM now() - created_at) * 1000)::bigint`.as('ageMs')])
    .where('id', '=', id)
    .executeTakeFirst();
}

export async function deleteRevocation(db: Database, id: string): Promise<void> {
  await db.deleteFrom('integration_revocations').where('id', '=', id).execute();
}

/** Up to `limit` rows after `afterId`, ordered by id, that are encrypted with another key. */
export function listSealedOtherwise(
  db: Database,
  table: SealedTable,
  keyId: string,
  afterId: string,
  limit: number,
): Promise<SealedRow[]> {
  return db
    .selectFrom(table)
    .select(SEALED)
    .where('key_id', '!=', keyId)
    .where('id', '>', afterId)
    .orderBy('id')
    .limit(limit)
    .execute();
}

/** Has no effect if the tokens have changed. */
export async function resealTokens(
  db: Database,
  table: SealedTable,
  old: SealedRow,
  { keyId, sealed }: SealedTokens,
): Promise<void> {
  await db
    .updateTable(table)
    .set({ key_id: keyId, tokens: sealed })
    .where('id', '=', old.id)
    .where('tokens', '=', old.sealed)
    .execute();
}
