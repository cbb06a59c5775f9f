import type { IntegrationProvider } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { lockUser } from './lock-user.js';
import type { KnownState } from '../apps/integrations/oauth-states.js';
import type { SealedTokens } from '../apps/integrations/token-cipher.js';

export interface SealedRow extends SealedTokens {
  id: string;
  userId: string;
  provider: IntegrationProvider;
}

/** Expiry and due time for renewal. Null: never. */
export interface Validity {
  expiresAt: Date | null;
  refreshAt: Date | null;
}

export interface ConnectionRow extends SealedRow, Validity {}

export interface RevocationRow extends SealedRow {
  ageMs: number;
}

export type SealedTable = 'integrations' | 'integration_revocations';

export interface IntegrationStore {
  /** Omits expired tokens that cannot be renewed. */
  connected(userId: string): Promise<IntegrationProvider[]>;
  /** Like `connected`, for the agent's owner. */
  connectedOfAgent(agentId: string): Promise<IntegrationProvider[]>;
  /** Locks the user, which serializes concurrent callbacks. @returns false if the user is deleted */
  lockUser(userId: string, db: Database): Promise<boolean>;
  hasCode(userId: string, provider: IntegrationProvider, codeHash: Buffer): Promise<boolean>;
  /** Binds a state to this code. @returns false if the state was used for another code */
  claimState(state: KnownState, codeHash: Buffer): Promise<boolean>;
  insert(connection: ConnectionRow & { codeHash: Buffer }, db: Database): Promise<void>;
  find(id: string): Promise<ConnectionRow | undefined>;
  findOf(userId: string, provider: IntegrationProvider, db?: Database): Promise<ConnectionRow | undefined>;
  /** Like `find`, and locks the connection. */
  lock(id: string, db: Database): Promise<ConnectionRow | undefined>;
  /** Call it after `lock`. */
  renew(id: string, renewed: SealedTokens & Validity, db: Database): Promise<void>;
  /** Deletes the user's connection to one provider, or all connections. @returns the deleted rows */
  drop(userId: string, provider: IntegrationProvider | undefined, db: Database): Promise<SealedRow[]>;
  /** Call it after `lock`. */
  delete(id: string, db: Database): Promise<void>;
  insertRevocation(row: SealedRow, db: Database): Promise<void>;
  findRevocation(id: string): Promise<RevocationRow | undefined>;
  deleteRevocation(id: string, db: Database): Promise<void>;
  /** Up to `limit` rows after `afterId`, ordered by id, that are encrypted with another key. */
  sealedOtherwise(table: SealedTable, keyId: string, afterId: string, limit: number): Promise<SealedRow[]>;
  /** Has no effect if the tokens have changed. */
  reseal(table: SealedTable, old: SealedRow, sealed: SealedTokens): Promise<void>;
}

const SEALED = ['id', 'user_id as userId', 'provider', 'key_id as keyId', 'tokens as sealed'] as const;
/** An expired token that cannot be renewed is of no use: the user must connect again. */
const isUsable = sql<boolean>`(i.expires_at IS NULL OR i.expires_at > now() OR i.refresh_at IS NOT NULL)`;
const CONNECTION = [...SEALED, 'expires_at as expiresAt', 'refresh_at as refreshAt'] as const;

export function createIntegrationStore(database: Database): IntegrationStore {
  const connections = (db: Database = database) => db.selectFrom('integrations').select(CONNECTION);

  return {
    async connected(userId) {
      const rows = await database
        .selectFrom('integrations as i')
        .select('i.provider')
        .where('i.user_id', '=', userId)
        .where(isUsable)
        .execute();
      return rows.map(({ provider }) => provider);
    },

    async connectedOfAgent(agentId) {
      const rows = await database
        .selectFrom('integrations as i')
        .innerJoin('workspaces as w', 'w.owner_id', 'i.user_id')
        .innerJoin('agents as a', 'a.workspace_id', 'w.id')
        .select('i.provider')
        .where('a.id', '=', agentId)
        .where(isUsable)
        .execute();
      return rows.map(({ provider }) => provider);
    },

    lockUser,

    async hasCode(userId, provider, codeHash) {
      const row = await database
        .selectFrom('integrations')
        .select('id')
        .where('user_id', '=', userId)
        .where('provider', '=', provider)
        .where('code_hash', '=', codeHash)
        .executeTakeFirst();
      return row !== undefined;
    },

    async claimState({ nonce, expiresAt }, codeHash) {
      await database
        .deleteFrom('integration_states')
        .where('expires_at', '<', sql<Date>`now()`)
        .execute();
      const row = await database
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
    },

    async insert({ id, userId, provider, keyId, sealed, codeHash, expiresAt, refreshAt }, db) {
      const owner = { id, user_id: userId, provider };
      const validity = { expires_at: expiresAt, refresh_at: refreshAt };
      await db
        .insertInto('integrations')
        .values({ ...owner, key_id: keyId, tokens: sealed, code_hash: codeHash, ...validity })
        .execute();
    },

    find: (id) => connections().where('id', '=', id).executeTakeFirst(),

    findOf: (userId, provider, db) =>
      connections(db).where('user_id', '=', userId).where('provider', '=', provider).executeTakeFirst(),

    lock: (id, db) => connections(db).where('id', '=', id).forUpdate().executeTakeFirst(),

    async renew(id, { keyId, sealed, expiresAt, refreshAt }, db) {
      const validity = { expires_at: expiresAt, refresh_at: refreshAt };
      await db
        .updateTable('integrations')
        .set({ key_id: keyId, tokens: sealed, ...validity, updated_at: sql<Date>`now()` })
        .where('id', '=', id)
        .execute();
    },

    drop(userId, provider, db) {
      const all = db.deleteFrom('integrations').where('user_id', '=', userId);
      return (provider === undefined ? all : all.where('provider', '=', provider)).returning(SEALED).execute();
    },

    async delete(id, db) {
      await db.deleteFrom('integrations').where('id', '=', id).execute();
    },

    async insertRevocation({ id, userId, provider, keyId, sealed }, db) {
      await db
        .insertInto('integration_revocations')
        .values({ id, user_id: userId, provider, key_id: keyId, tokens: sealed })
        .execute();
    },

    findRevocation: (id) =>
      database
        .selectFrom('integration_revocations')
        .select([...SEALED, sql<number>`(extract(epoch FROM now() - created_at) * 1000)::bigint`.as('ageMs')])
        .where('id', '=', id)
        .executeTakeFirst(),

    async deleteRevocation(id, db) {
      await db.deleteFrom('integration_revocations').where('id', '=', id).execute();
    },

    sealedOtherwise: (table, keyId, afterId, limit) =>
      database
        .selectFrom(table)
        .select(SEALED)
        .where('key_id', '!=', keyId)
        .where('id', '>', afterId)
        .orderBy('id')
        .limit(limit)
        .execute(),

    async reseal(table, old, { keyId, sealed }) {
      await database
        .updateTable(table)
        .set({ key_id: keyId, tokens: sealed })
        .where('id', '=', old.id)
        .where('tokens', '=', old.sealed)
        .execute();
    },
  };
}
