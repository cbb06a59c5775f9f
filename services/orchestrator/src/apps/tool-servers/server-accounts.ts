import { ApiError } from '@uswarm/contract';
import {
  AuthorizationFailure,
  type AuthorizationServer,
  discoverAuthorization,
  type RegisteredClient,
  registerClient,
} from '@uswarm/mcp-client/authorization';
import type { Clock, Logger } from '@uswarm/service-kit';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import type { Database } from '../../platform/database/database.js';
import {
  deleteUnusedClient,
  findServerClient,
  storeServerClient,
  type ToolServerClientRow,
} from '../../records/tool-server-clients.store.js';
import type { ProviderClient } from '../integrations/provider-clients.js';
import type { TokenCipher } from '../integrations/token-cipher.js';
import { readServerSecret } from './server-secret.js';
import type { OAuthSettings, ToolServer } from './tool-servers-file.js';
import type { ToolServers } from './tool-servers.js';
import { isUserServerId } from './user-server-id.js';

/** Identifies connections to a tool server among a user's integrations. */
export const connectionKey = (server: string): string => `mcp:${server}`;

export const serverOfKey = (key: string): string | undefined => /^mcp:(.+)$/.exec(key)?.[1];

export interface ServerAccountsDeps {
  servers: Pick<ToolServers, 'operators' | 'find'>;
  /** Reaches only addresses on the internet, and the operator's servers. */
  outgoing: Pick<Outgoing, 'fetch'>;
  /** For servers that users have added: reaches only addresses on the internet. */
  publicOutgoing: Pick<Outgoing, 'fetch'>;
  /** Directory with the client secrets. */
  secrets: string | undefined;
  database: Database;
  cipher: TokenCipher;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

/** Connects users' accounts on tool servers. */
export interface ServerAccounts {
  /**
   * Finds out how accounts are connected, and registers a client if the operator has none.
   *
   * @throws ApiError `integration_not_configured`, `integration_unavailable`
   */
  prepare(key: string, userId: string): Promise<void>;
  /** A removed server's client is found until the tokens are revoked. */
  find(key: string): Promise<ProviderClient | undefined>;
}

const TIMEOUT_MS = 30_000;
const CLIENT_NAME = 'uswarm';

const StoredClient = z.object({
  issuer: z.string().optional(),
  authorizationEndpoint: z.string(),
  tokenEndpoint: z.string(),
  revocationEndpoint: z.string().optional(),
  requiresIssuer: z.boolean().optional(),
  resource: z.string(),
  scopes: z.array(z.string()),
  clientId: z.string(),
  redirectUrls: z.tuple([z.string()], z.string()),
  clientAuthentication: z.enum(['basic', 'body']),
  /** True if the server registered it. */
  isRegistered: z.boolean(),
  secretExpiresAt: z.string().optional(),
});
type StoredClient = z.output<typeof StoredClient>;

interface KnownServer {
  server: ToolServer;
  settings: OAuthSettings;
}

export function createServerAccounts(deps: ServerAccountsDeps): ServerAccounts {
  const { database, cipher, clock, logger } = deps;

  const known = (server: ToolServer | undefined): KnownServer | undefined =>
    server?.auth.type === 'oauth' ? { server, settings: server.auth } : undefined;

  /** Registered secrets belong to no user. */
  const ownerOf = (key: string) => ({ userId: '', provider: key });

  async function operatorSecret(secret: string | undefined): Promise<string | undefined> {
    if (secret === undefined) return undefined;
    return readServerSecret(deps.secrets, secret);
  }

  /** @throws Error if it cannot be read or decrypted */
  async function secretOf(
    key: string,
    settings: OAuthSettings | undefined,
    { keyId, secret }: Pick<ToolServerClientRow, 'keyId' | 'secret'>,
  ) {
    if (keyId === null || secret === null) return operatorSecret(settings?.secret);
    return cipher.open({ keyId, sealed: secret }, ownerOf(key)).accessToken;
  }

  /** The stored registration, if it still fits. */
  async function fitting(
    key: string,
    { settings }: KnownServer,
    row: ToolServerClientRow | undefined,
    found: AuthorizationServer,
  ): Promise<StoredClient | undefined> {
    const { data: stored } = StoredClient.safeParse(row?.client);
    if (row === undefined || stored === undefined || !stored.isRegistered || settings.client_id !== undefined)
      return undefined;
    const isExpired = stored.secretExpiresAt !== undefined && new Date(stored.secretExpiresAt) <= clock.now();
    // A secret whose key was removed is lost.
    const isReadable = await secretOf(key, settings, row).then(
      () => true,
      () => false,
    );
    const fits =
      stored.tokenEndpoint === found.tokenEndpoint &&
      stored.redirectUrls.join(' ') === settings.redirect_urls.join(' ');
    return fits && !isExpired && isReadable ? stored : undefined;
  }

  async function prepare(key: string, userId: string): Promise<void> {
    const asked = known(await deps.servers.find(userId, serverOfKey(key) ?? ''));
    if (asked === undefined) return;
    await prepareServer(key, asked);
    // The user may have removed the server meanwhile.
    await deleteUnusedClient(database, asked.server.id);
  }

  async function prepareServer(key: string, asked: KnownServer): Promise<void> {
    const { server, settings } = asked;
    const outgoing = server.addedBy === undefined ? deps.outgoing : deps.publicOutgoing;
    const options = { fetch: outgoing.fetch, signal: AbortSignal.timeout(TIMEOUT_MS) };
    const found = await discoverAuthorization({ url: server.url, ...options });
    if (found === undefined) throw new AuthorizationFailure('unsupported', `${server.name} needs no account`);
    const row = await findServerClient(database, server.id);
    const registered = await fitting(key, asked, row, found);
    if (row !== undefined && registered !== undefined) {
      const client = { ...registered, ...discovered(found, settings) };
      await storeServerClient(database, { ...row, client }, row);
      return;
    }
    const { clientId, clientSecret, tokenAuthMethod, secretExpiresAt }: RegisteredClient =
      settings.client_id === undefined
        ? await registerClient(found, { clientName: CLIENT_NAME, redirectUrls: settings.redirect_urls, ...options })
        : { clientId: settings.client_id, tokenAuthMethod: methodOf(settings, found) };
    const client: StoredClient = {
      ...discovered(found, settings),
      clientId,
      redirectUrls: settings.redirect_urls,
      clientAuthentication: tokenAuthMethod === 'client_secret_basic' ? 'basic' : 'body',
      isRegistered: settings.client_id === undefined,
      ...(secretExpiresAt === undefined ? {} : { secretExpiresAt: secretExpiresAt.toISOString() }),
    };
    const sealed = clientSecret === undefined ? undefined : cipher.seal({ accessToken: clientSecret }, ownerOf(key));
    const secret = { keyId: sealed?.keyId ?? null, secret: sealed?.sealed ?? null };
    await storeServerClient(database, { server: server.id, client, ...secret }, row);
  }

  return {
    async prepare(key, userId) {
      try {
        await prepare(key, userId);
      } catch (error) {
        if (!(error instanceof AuthorizationFailure)) throw error;
        logger.warn({ server: serverOfKey(key), kind: error.kind, err: error }, 'a tool server cannot be connected');
        const code = error.kind === 'unreachable' ? 'integration_unavailable' : 'integration_not_configured';
        throw new ApiError(code, { cause: error });
      }
    },

    async find(key) {
      const id = serverOfKey(key) ?? '';
      const isUserServer = isUserServerId(id);
      const settings = known(deps.servers.operators.find((server) => server.id === id))?.settings;
      if (settings === undefined && !isUserServer) return undefined;
      const row = await findServerClient(database, id);
      const { data: stored } = StoredClient.safeParse(row?.client);
      if (row === undefined || stored === undefined) return undefined;
      try {
        return { ...providerClient(key, stored, await secretOf(key, settings, row)), isUserServer };
      } catch (error) {
        logger.warn({ server: id, err: error }, 'the client secret of a tool server cannot be read');
        return undefined;
      }
    },
  };
}

function discovered(found: AuthorizationServer, settings: OAuthSettings) {
  const { issuer, authorizationEndpoint, tokenEndpoint, revocationEndpoint, resource, scopes } = found;
  const { issuesCallbackIssuer: requiresIssuer } = found;
  return {
    authorizationEndpoint,
    tokenEndpoint,
    resource,
    scopes: settings.scopes ?? scopes,
    requiresIssuer,
    ...(issuer === undefined ? {} : { issuer }),
    ...(revocationEndpoint === undefined ? {} : { revocationEndpoint }),
  };
}

/** Of an operator's client. */
function methodOf(
  { secret }: OAuthSettings,
  { tokenAuthMethods }: AuthorizationServer,
): RegisteredClient['tokenAuthMethod'] {
  if (secret === undefined) return 'none';
  return tokenAuthMethods.includes('client_secret_basic') ? 'client_secret_basic' : 'client_secret_post';
}

function providerClient(key: string, stored: StoredClient, clientSecret: string | undefined): ProviderClient {
  const { issuer, revocationEndpoint, requiresIssuer = false, ...others } = stored;
  const { secretExpiresAt: _, isRegistered: __, ...client } = others;
  return {
    ...client,
    requiresIssuer,
    provider: key,
    clientSecret,
    // Servers may grant less: then the tool that needs more fails.
    toolScopes: [],
    additionalParameters: {},
    pkce: true,
    ...(issuer === undefined ? {} : { issuer }),
    ...(revocationEndpoint === undefined ? {} : { revocationEndpoint }),
  };
}
