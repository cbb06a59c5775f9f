import { createHash, randomBytes, randomUUIDv7 } from 'node:crypto';
import { ApiError, type IntegrationCatalog, type IntegrationItem, type OAuthConfiguration } from '@uswarm/contract';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Transaction, WithTransaction, Database } from '../../platform/database/database.js';
import { appendAudit } from '../../records/audit.store.js';
import type { Session } from '../../accounts/auth/actor.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import { type CatalogFile, catalogOf } from './catalog.js';
import {
  type SealedRow,
  claimAuthorizationState,
  dropIntegrations,
  extraScopes,
  findConnectionScopes,
  insertIntegration,
  listConnectedApps,
  hasAuthorizationCode,
} from '../../records/integrations.store.js';
import { type Grant, OAuthFailure } from './oauth-answer.js';
import type { OAuthStates } from './oauth-states.js';
import type { OAuthClient } from './oauth-client.js';
import { missingPermissions } from './permissions.js';
import { oauthConfiguration, type ProviderClient, type ProviderClients } from './provider-clients.js';
import type { TokenCipher } from './token-cipher.js';
import { REFRESH_JOB } from './token-refresh.js';
import { revokeLater } from './token-revocation.js';
import { validityOf } from './token-validity.js';
import { lockUser } from '../../records/lock-user.js';
import { deleteUnusedClient } from '../../records/tool-server-clients.store.js';
import { deleteUserServers } from '../../records/user-tool-servers.store.js';

export interface IntegrationServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'enqueue' | 'cancel'>;
  clients: ProviderClients;
  /**
   * Finds out how accounts of a tool server are connected; does nothing for an integration.
   *
   * @throws ApiError `integration_not_configured`, `integration_unavailable`
   */
  prepare: (provider: string, userId: string) => Promise<void>;
  /** False for a tool server that the user has removed. The transaction has locked the user. */
  exists: (provider: string, userId: string, tx: Transaction) => Promise<boolean>;
  /** Called in the transaction that stores a connection. */
  connected: (row: Pick<SealedRow, 'id' | 'provider'>, tx: Transaction) => Promise<void>;
  oauth: Pick<OAuthClient, 'exchange' | 'revoke'>;
  cipher: TokenCipher;
  states: OAuthStates;
  catalog: CatalogFile;
  /** Tool servers whose tools agents can use. */
  serverItems: (userId: string, connections: ReadonlySet<string>) => Promise<IntegrationItem[]>;
  clock: Clock;
  logger: Logger;
}

export interface Callback {
  provider: string;
  code: string;
  codeVerifier: string;
  redirectUrl: string;
  state: string | undefined;
  /** RFC 9207 */
  issuer: string | undefined;
}

/** Includes the session for the audit log. */
export interface ConnectingUser {
  userId: string;
  session: Pick<Session, 'source'>;
}

export interface IntegrationService {
  list(userId: string): Promise<IntegrationCatalog>;
  /** @throws ApiError `integration_not_configured` */
  connect(userId: string, provider: string): Promise<OAuthConfiguration>;
  /**
   * Exchanges the code and stores the tokens. Repeating the same callback has no effect.
   *
   * @throws ApiError `integration_not_configured`, `redirect_url_not_allowed`, `validation_failed`,
   *   `integration_code_invalid`, `integration_permissions_missing`, `integration_exchange_failed`,
   *   `integration_unavailable`, `user_deleted`
   */
  complete(by: ConnectingUser, callback: Callback): Promise<void>;
  /** Deletes the tokens and enqueues their revocation at the provider. @throws ApiError `integration_not_found` */
  disconnect(by: ConnectingUser, provider: string): Promise<void>;
  /** Like `disconnect`, in a transaction. @returns false if it was not connected */
  drop(by: ConnectingUser, provider: string, tx: Transaction): Promise<boolean>;
  /** Stores a token that the user has entered, in place of an earlier one. */
  keepToken(by: ConnectingUser, provider: string, token: string, tx: Transaction): Promise<void>;
  /** Call it in the transaction that deletes the user. */
  revokeAll(userId: string, tx: Transaction): Promise<void>;
}

/** RFC 7636 §4.1 */
const CODE_VERIFIER = /^[\w.~-]{43,128}$/;

export function createIntegrationService(deps: IntegrationServiceDeps): IntegrationService {
  const { withTransaction, database, jobs, clients, prepare, oauth, cipher, states, catalog, clock, logger } = deps;

  async function requireClient(provider: string): Promise<ProviderClient> {
    const client = await clients.find(provider);
    if (client === undefined) throw new ApiError('integration_not_configured');
    return client;
  }

  /** Scopes that the server has named for some calls. */
  async function extraScopesOf(db: Database, userId: string, provider: string): Promise<string[]> {
    const scopes = await findConnectionScopes(db, userId, provider);
    return scopes === undefined ? [] : extraScopes(scopes);
  }

  async function exchange(client: ProviderClient, callback: Callback): Promise<Grant> {
    try {
      return await oauth.exchange(client, callback);
    } catch (error) {
      if (!(error instanceof OAuthFailure)) throw error;
      const { kind, reason } = error;
      if (kind === 'gone') throw new ApiError('integration_code_invalid', { cause: error });
      if (kind === 'unavailable') {
        logger.warn(
          { provider: client.provider, reason },
          'a provider could not be reached, or a proxy answered instead',
        );
        throw new ApiError('integration_unavailable', { cause: error });
      }
      const extra = { provider_error: reason };
      if (!error.rejectsCredentials) {
        logger.warn({ provider: client.provider, reason }, 'a provider refused to exchange a code');
        throw new ApiError('integration_exchange_failed', { extra, cause: error });
      }
      logger.error(
        { provider: client.provider, reason },
        'a provider rejects the client credentials; look at its settings',
      );
      const message = 'The provider rejected the client credentials; contact the administrator.';
      throw new ApiError('integration_exchange_failed', { message, extra, cause: error });
    }
  }

  /** Must run before the provider is called: a code from another user's flow must not be redeemed. */
  async function requireOwnFlow(
    userId: string,
    { provider, pkce, issuer, requiresIssuer = false }: ProviderClient,
    callback: Callback,
    codeHash: Buffer,
  ): Promise<void> {
    const { state, issuer: returned } = callback;
    const isOtherIssuer = returned !== undefined && issuer !== undefined && returned !== issuer;
    const lacksIssuer = returned === undefined && requiresIssuer;
    if (isOtherIssuer || lacksIssuer || (state === undefined && !pkce)) throw new ApiError('integration_code_invalid');
    if (state === undefined) return;
    const known = states.verify(state, userId, provider);
    if (known === undefined || !(await claimAuthorizationState(database, known, codeHash)))
      throw new ApiError('integration_code_invalid');
  }

  async function forget(userId: string, provider: string | undefined, tx: Transaction): Promise<SealedRow[]> {
    const rows = await dropIntegrations(tx, userId, provider);
    for (const { id } of rows) await jobs.cancel(REFRESH_JOB, id, tx);
    return rows;
  }

  const record = (
    verb: 'connect' | 'disconnect',
    { userId, session }: ConnectingUser,
    provider: string,
    tx: Transaction,
  ): Promise<void> => {
    const details = { provider, ...(session.source === null ? {} : { source: session.source }) };
    return appendAudit(tx, { actor: 'user', action: `integration.${verb}`, userId, details });
  };

  /**
   * Revokes tokens that are not stored. @throws ApiError `integration_permissions_missing` if tools could not work with
   * them
   */
  async function requirePermissions(userId: string, client: ProviderClient, grant: Grant): Promise<void> {
    const missing = missingPermissions(client, grant.scopes);
    if (missing.length === 0) return;
    const { provider } = client;
    const row = { id: randomUUIDv7(), userId, provider, ...cipher.seal(grant, { userId, provider }) };
    await withTransaction((tx) => revokeLater(deps, [row], tx));
    throw new ApiError('integration_permissions_missing', { extra: { missing_permissions: missing } });
  }

  /** @returns why the connection could not be stored */
  async function keep(
    by: ConnectingUser,
    callback: Callback,
    grant: Grant,
    codeHash: Buffer,
  ): Promise<'user_deleted' | 'integration_not_found' | undefined> {
    const { userId } = by;
    const { provider } = callback;
    const row = { id: randomUUIDv7(), userId, provider, ...cipher.seal(grant, { userId, provider }) };
    const validity = validityOf(grant, clock.now());
    return withTransaction(async (tx) => {
      const hasUser = await lockUser(tx, userId);
      if (!hasUser || !(await deps.exists(provider, userId, tx))) {
        // Deleted during the provider call. Only this process knows the tokens, so revoke them.
        await revokeLater(deps, [row], tx);
        return hasUser ? 'integration_not_found' : 'user_deleted';
      }
      const askedScopes = await extraScopesOf(tx, userId, provider);
      await forget(userId, provider, tx);
      await insertIntegration(tx, { ...row, ...validity, codeHash, askedScopes });
      await record('connect', by, provider, tx);
      await deps.connected(row, tx);
      if (validity.refreshAt !== null) {
        const dueInMs = validity.refreshAt.getTime() - clock.now().getTime();
        await jobs.enqueue({ kind: REFRESH_JOB, subjectId: row.id, workspaceId: row.id, dueInMs }, tx);
      }
      return undefined;
    });
  }

  /** A removed server's client is deleted, too, so that a job could not revoke tokens any more. */
  async function revokeNow(client: ProviderClient, grant: Grant): Promise<void> {
    try {
      await oauth.revoke(client, grant);
    } catch (error) {
      if (!(error instanceof OAuthFailure)) throw error;
      logger.info(
        { provider: client.provider, reason: error.reason },
        'tokens of a removed tool server are not revoked',
      );
    }
  }

  async function drop(by: ConnectingUser, provider: string, tx: Transaction): Promise<boolean> {
    const rows = await forget(by.userId, provider, tx);
    await revokeLater(deps, rows, tx);
    if (rows.length > 0) await record('disconnect', by, provider, tx);
    return rows.length > 0;
  }

  return {
    async list(userId) {
      const connections = new Set(await listConnectedApps(database, userId));
      const { categories, items } = catalogOf(catalog, connections);
      const servers = await deps.serverItems(userId, connections);
      const replaced = new Set(servers.flatMap(({ provider }) => provider ?? []));
      const others = items.filter(({ provider }) => provider === null || !replaced.has(provider));
      return { categories, items: [...others, ...servers] };
    },

    async connect(userId, provider) {
      await prepare(provider, userId);
      const client = await requireClient(provider);
      const scopes = [...new Set([...client.scopes, ...(await extraScopesOf(database, userId, provider))])];
      return oauthConfiguration({ ...client, scopes }, states.issue(userId, provider));
    },

    async complete(by, callback) {
      const { provider, code, codeVerifier, redirectUrl } = callback;
      const client = await requireClient(provider);
      if (!client.redirectUrls.includes(redirectUrl)) throw new ApiError('redirect_url_not_allowed');
      if (client.pkce && !CODE_VERIFIER.test(codeVerifier)) {
        const fields = [{ path: 'code_verifier', message: 'needs 43 to 128 letters, digits or -._~' }];
        throw new ApiError('validation_failed', { extra: { fields } });
      }
      const codeHash = createHash('sha256').update(code).digest();
      // A code is single-use: if it is sent twice, the provider may revoke the tokens it issued.
      if (await hasAuthorizationCode(database, by.userId, provider, codeHash)) return;
      await requireOwnFlow(by.userId, client, callback, codeHash);
      const grant = await exchange(client, callback);
      await requirePermissions(by.userId, client, grant);
      const problem = await keep(by, callback, grant, codeHash);
      if (problem === undefined) return;
      if (client.isUserServer) await revokeNow(client, grant);
      throw new ApiError(problem);
    },

    async disconnect(by, provider) {
      const dropped = await withTransaction((tx) => drop(by, provider, tx));
      if (!dropped) throw new ApiError('integration_not_found');
    },

    drop,

    async keepToken(by, provider, token, tx) {
      const { userId } = by;
      const sealed = cipher.seal({ accessToken: token }, { userId, provider });
      await forget(userId, provider, tx);
      // No authorization code belongs to it.
      const row = { id: randomUUIDv7(), userId, provider, ...sealed, codeHash: randomBytes(32) };
      await insertIntegration(tx, { ...row, expiresAt: null, refreshAt: null });
      await record('connect', by, provider, tx);
    },

    async revokeAll(userId, tx) {
      await revokeLater(deps, await forget(userId, undefined, tx), tx);
      for (const server of await deleteUserServers(tx, userId)) await deleteUnusedClient(tx, server);
    },
  };
}
