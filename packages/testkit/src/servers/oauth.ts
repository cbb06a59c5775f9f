import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientMetadata, type Configuration, Provider } from 'oidc-provider';
import { request } from 'undici';
import { generateKey } from './oidc-keys.js';
import { createOidcStore } from './oidc-store.js';

export interface OAuthServerOptions {
  clients: ClientMetadata[];
  /** Seconds that an access token is good for. */
  accessTokenSeconds?: number;
  /** Whether codes need a code challenge. Default: true. */
  pkce?: boolean;
}

/** What somebody who connects an app is sent to the server with. */
export interface AuthorizationRequest {
  clientId: string;
  redirectUrl: string;
  scopes: readonly string[];
  parameters: Record<string, string>;
}

export interface OAuthServer {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  revocationEndpoint: string;
  /** Signs a new person in, who agrees to everything. @returns the code that the app gets */
  authorize(request: AuthorizationRequest): Promise<string>;
  /** What succeeded, so far. */
  counts: { exchanges: number; refreshes: number; revocations: number };
  /** Whether the server still takes an access token. */
  accepts(accessToken: string): Promise<boolean>;
  /** While it is away, every connection breaks. */
  away(away: boolean): void;
  close(): Promise<void>;
}

const INTERACTION = '/interaction/';

/**
 * An authorization server of another company, as far as an app can tell: code flow with PKCE, refresh
 * tokens that are good once (a second use revokes all that came from the first), revocation.
 */
export async function startOAuthServer(options: OAuthServerOptions): Promise<OAuthServer> {
  let away = false;
  let answer = async (_request: IncomingMessage, _response: ServerResponse): Promise<void> => undefined;
  const server = createServer((incoming, response) => {
    if (away) incoming.socket.destroy();
    else answer(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, { ...configuration(options), jwks: { keys: [await generateKey()] } });
  answer = async (incoming, response) => {
    if (incoming.url?.startsWith(INTERACTION) === true) await agree(provider, incoming, response);
    else await provider.callback()(incoming, response);
  };
  return {
    authorizationEndpoint: `${url}/auth`,
    tokenEndpoint: `${url}/token`,
    revocationEndpoint: `${url}/token/revocation`,
    authorize: (wanted) => authorize(`${url}/auth`, wanted),
    counts: countSuccesses(provider),
    async accepts(accessToken) {
      const headers = { authorization: `Bearer ${accessToken}` };
      const { statusCode, body } = await request(`${url}/me`, { headers });
      await body.dump();
      return statusCode === 200;
    },
    away: (on) => {
      away = on;
      if (on) server.closeAllConnections();
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

function configuration({ clients, accessTokenSeconds = 3_600, pkce = true }: OAuthServerOptions): Configuration {
  const day = 24 * 60 * 60;
  return {
    adapter: createOidcStore(),
    clients,
    cookies: { keys: [crypto.randomUUID()] },
    features: { devInteractions: { enabled: false }, revocation: { enabled: true, allowedPolicy: async () => true } },
    findAccount: (_context, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    interactions: { url: (_context, { uid }) => `${INTERACTION}${uid}` },
    pkce: { required: () => pkce },
    rotateRefreshToken: true,
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: 60,
      IdToken: accessTokenSeconds,
      Grant: day,
      Interaction: 60,
      RefreshToken: day,
      Session: day,
    },
  };
}

function countSuccesses(provider: Provider): OAuthServer['counts'] {
  const counts = { exchanges: 0, refreshes: 0, revocations: 0 };
  provider.on('grant.success', ({ oidc }) => {
    if (oidc.params?.['grant_type'] === 'refresh_token') counts.refreshes += 1;
    else counts.exchanges += 1;
  });
  provider.on('refresh_token.destroyed', () => void (counts.revocations += 1));
  return counts;
}

async function agree(provider: Provider, incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { params } = await provider.interactionDetails(incoming, response);
  const accountId = crypto.randomUUID();
  const grant = new provider.Grant({ accountId, clientId: String(params['client_id']) });
  grant.addOIDCScope(String(params['scope']));
  const grantId = await grant.save();
  await provider.interactionFinished(incoming, response, { login: { accountId }, consent: { grantId } });
}

/** Follows the redirects of one sign-in, with the cookies that it sets, up to the app's own address. */
async function authorize(endpoint: string, wanted: AuthorizationRequest): Promise<string> {
  const start = new URL(endpoint);
  const fields = { response_type: 'code', client_id: wanted.clientId, redirect_uri: wanted.redirectUrl };
  start.search = new URLSearchParams({ ...fields, scope: wanted.scopes.join(' '), ...wanted.parameters }).toString();
  const cookies = new Map<string, string>();
  let next = start.href;
  while (!next.startsWith(wanted.redirectUrl)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const { statusCode, headers, body } = await request(next, { headers: { cookie } });
    const text = await body.text();
    for (const set of [headers['set-cookie'] ?? []].flat()) {
      const [name = '', value = ''] = (set.split(';')[0] ?? '').split('=');
      cookies.set(name, value);
    }
    if (typeof headers.location !== 'string') throw new Error(`the server answered ${statusCode}: ${text}`);
    next = new URL(headers.location, next).href;
  }
  const code = new URL(next).searchParams.get('code');
  if (code === null) throw new Error(`the server refused: ${next}`);
  return code;
}
