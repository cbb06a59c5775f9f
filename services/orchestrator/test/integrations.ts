import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { IntegrationCatalog, IntegrationProvider, OAuthConfiguration } from '@uswarm/contract';
import { type OAuthServer, startOAuthServer } from '@uswarm/dev-servers';
import { type AccountServer, consentTo, startAccountServer } from '@uswarm/testkit/account-server';
import { sql } from 'kysely';
import type { Database } from '../src/platform/database/database.js';
import type { SealedRow } from '../src/records/integrations.store.js';
import { createTokenCipher, TokenKeys, type Tokens } from '../src/apps/integrations/token-cipher.js';
import type { ApiClient } from './api-client.js';

export const CALLBACK = '/v1/integrations/callback';
const CALLBACK_URL = 'https://app.example.com/callback';
/** For Gmail, the URL in the API examples. */
export const redirectUrlOf = (provider: string): string =>
  provider === 'gmail' ? CALLBACK_URL : `${CALLBACK_URL}/${provider}`;
export const CLIENT_SECRET = 'secret-of-a-registered-client';

const PROVIDERS = ['gmail', 'google_calendar'] as const;

/** Starts an authorization server that plays the role of several providers. */
export function startProviderServer({ pkce = true } = {}): Promise<OAuthServer> {
  return startOAuthServer({
    pkce,
    clients: PROVIDERS.map((provider) => ({
      client_id: clientIdOf(provider),
      client_secret: CLIENT_SECRET,
      redirect_uris: PROVIDERS.map(redirectUrlOf),
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code' as const],
      token_endpoint_auth_method: 'client_secret_post' as const,
    })),
  });
}

export const clientIdOf = (provider: string): string => `client-${provider}`;

export const newTokenKey = (id: string): string => `${id}:${randomBytes(32).toString('base64')}`;

/** Settings for an orchestrator whose providers are on that server; `change` applies to every provider. */
export function integrationEnvironment(
  server: OAuthServer,
  change: Record<string, unknown> = {},
): Record<string, string> {
  const providers = PROVIDERS.map((provider) => [
    provider,
    {
      client_id: clientIdOf(provider),
      client_secret: CLIENT_SECRET,
      redirect_urls: [redirectUrlOf(provider)],
      authorization_endpoint: server.authorizationEndpoint,
      token_endpoint: server.tokenEndpoint,
      revocation_endpoint: server.revocationEndpoint,
      scopes: ['openid', 'offline_access'],
      additional_parameters: { prompt: 'consent' },
      ...change,
    },
  ]);
  return {
    INTEGRATION_PROVIDERS: JSON.stringify(Object.fromEntries(providers)),
    INTEGRATION_TOKEN_KEYS: newTokenKey('first'),
  };
}

export interface CallbackBody {
  provider: IntegrationProvider;
  authorization_code: string;
  code_verifier: string;
  redirect_url: string;
}

/**
 * Runs the OAuth flow as an app does, by default with the scopes that it is told. @returns the callback request's body
 */
export async function authorized(
  user: ApiClient,
  server: OAuthServer,
  provider: IntegrationProvider,
  scopes?: string[],
): Promise<CallbackBody> {
  const { body: config } = await user.post<OAuthConfiguration>('/v1/integrations/connect', { provider }, 200);
  const verifier = randomBytes(32).toString('base64url');
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const code = await server.authorize({
    clientId: config.client_id,
    redirectUrl: config.redirect_url,
    scopes: scopes ?? config.scopes,
    parameters: {
      ...config.additional_parameters,
      ...('code_challenge_method' in config.additional_parameters ? { code_challenge: challenge } : {}),
    },
  });
  return { provider, authorization_code: code, code_verifier: verifier, redirect_url: config.redirect_url };
}

export async function connect(
  user: ApiClient,
  server: OAuthServer,
  provider: IntegrationProvider,
): Promise<CallbackBody> {
  const body = await authorized(user, server, provider);
  await user.post(CALLBACK, body, 204);
  return body;
}

export async function enabledOf(user: ApiClient): Promise<IntegrationProvider[]> {
  const { body } = await user.get<{ data: IntegrationCatalog }>('/v1/integrations');
  return body.data.items.flatMap(({ provider, enabled }) => (provider !== null && enabled ? [provider] : []));
}

/** @throws Error if the row or the keys are missing */
export function tokensIn(row: SealedRow | undefined, environment: Record<string, string>): Tokens {
  const [first, ...others] = TokenKeys.parse(environment['INTEGRATION_TOKEN_KEYS']);
  if (first === undefined || row === undefined) throw new Error('the row or the keys are missing');
  return createTokenCipher([first, ...others]).open(row, row);
}

/** Id of the tool server in the API examples. */
const TOOL_SERVER = 'linear';
const TOOL_SERVER_REDIRECT = 'https://app.example.com/connected/linear';

/** An authorization server for integrations, and a tool server with accounts. */
export interface ProviderServers extends OAuthServer {
  accounts: AccountServer;
  /** A server without accounts, which users can add. */
  wiki: AccountServer;
  /** Settings for an orchestrator that uses both. */
  environment: Record<string, string>;
}

export async function startProviderServers(): Promise<ProviderServers> {
  const oauth = await startProviderServer();
  const accounts = await startAccountServer();
  const wiki = await startAccountServer({ needsAccount: false });
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-tool-servers-'));
  const file = join(folder, 'tool-servers.json');
  const auth = { type: 'oauth', redirect_urls: [TOOL_SERVER_REDIRECT] };
  await writeFile(file, JSON.stringify({ servers: [{ id: TOOL_SERVER, name: 'Linear', url: accounts.url, auth }] }));
  return {
    ...oauth,
    accounts,
    wiki,
    environment: {
      ...integrationEnvironment(oauth),
      TOOL_SERVERS_FILE: file,
      USER_WEBHOOKS: 'true',
      USER_TOOL_SERVERS: 'true',
      USER_TOOL_SERVERS_PRIVATE_HOSTS: new URL(wiki.url).hostname,
    },
    async close() {
      await Promise.all([oauth.close(), accounts.close(), wiki.close()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Runs the flow for the tool server. @returns the body of its callback */
export async function authorizedServer(user: ApiClient, accounts: AccountServer) {
  const { body } = await user.post<{ data: OAuthConfiguration }>(
    `/v1/tool-servers/${TOOL_SERVER}/connect`,
    undefined,
    200,
  );
  return consentTo(accounts, body.data);
}

/** Connects the tool server, and changes one of its tools. */
export async function connectServer(
  user: ApiClient,
  accounts: AccountServer,
  { database, userId }: { database: Database; userId: string },
): Promise<void> {
  await user.post(`/v1/tool-servers/${TOOL_SERVER}/callback`, await authorizedServer(user, accounts), 204);
  const definition = {
    name: 'list_issues',
    description: 'Lists issues.',
    inputSchema: { type: 'object' },
    readOnly: true,
  };
  await sql`
    INSERT INTO tool_definitions (server, owner_id, name, definition, hash, changed, changed_hash)
    VALUES (${TOOL_SERVER}, ${userId}, 'list_issues', ${JSON.stringify(definition)}, 'x',
      ${JSON.stringify({ ...definition, description: 'Lists issues of a team.' })}, 'y')`.execute(database);
}
