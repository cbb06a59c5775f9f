import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ClientMetadata, type Configuration, Provider } from 'oidc-provider';
import { request } from 'undici';
import { generateKey } from '../oidc/oidc-keys.js';
import { createOidcStore } from '../oidc/oidc-store.js';

export interface OAuthServerOptions {
  clients: ClientMetadata[];
  /** Lifetime of access tokens in seconds. */
  accessTokenSeconds?: number;
  /** True requires a code challenge. Default: true. */
  pkce?: boolean;
}

/** Parameters of an authorization request. */
export interface AuthorizationRequest {
  clientId: string;
  redirectUrl: string;
  scopes: readonly string[];
  parameters: Record<string, string>;
  /** The account that signs in. Default: a new one. */
  accountId?: string;
}

export interface TokenAnswer {
  status: number;
  body: Record<string, unknown>;
}
/** @returns what is sent instead; a text is sent as a page */
export type ChangeOfTokenAnswer = (answer: TokenAnswer) => { status?: number; body: unknown };

export interface OAuthServer {
  authorizationEndpoint: string;
  tokenEndpoint: string;
  revocationEndpoint: string;
  /** Signs in as a user who grants all scopes. @returns the authorization code */
  authorize(request: AuthorizationRequest): Promise<string>;
  /** Successful request counts. */
  counts: { exchanges: number; refreshes: number; revocations: number };
  accepts(accessToken: string): Promise<boolean>;
  /** The account that a valid access token belongs to. */
  accountOf(accessToken: string): Promise<string>;
  /** While unavailable, the server closes every connection. */
  setUnavailable(unavailable: boolean): void;
  /** Changes the token endpoint's answers, as providers and proxies do; undefined ends it. */
  alterTokenAnswers(change: ChangeOfTokenAnswer | undefined): void;
  close(): Promise<void>;
}

const INTERACTION = '/interaction/';

/**
 * Starts an OAuth authorization server: code flow with PKCE, revocation, and refresh tokens with rotation. A reused
 * refresh token revokes all tokens of its grant.
 */
export async function startOAuthServer(options: OAuthServerOptions): Promise<OAuthServer> {
  let unavailable = false;
  let change: ChangeOfTokenAnswer | undefined;
  let respond = async (_request: IncomingMessage, _response: ServerResponse): Promise<void> => undefined;
  const server = createServer((incoming, response) => {
    if (unavailable) incoming.socket.destroy();
    else respond(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, { ...configuration(options), jwks: { keys: [await generateKey()] } });
  respond = async (incoming, response) => {
    if (incoming.url?.startsWith(INTERACTION) === true) await agree(provider, incoming, response);
    else {
      if (incoming.url === '/token' && change !== undefined) altered(response, change);
      await provider.callback()(incoming, response);
    }
  };
  return {
    authorizationEndpoint: `${url}/auth`,
    tokenEndpoint: `${url}/token`,
    revocationEndpoint: `${url}/token/revocation`,
    authorize: (wanted) => authorize(`${url}/auth`, wanted),
    counts: countSuccesses(provider),
    accepts: async (accessToken) => (await userOf(url, accessToken)) !== undefined,
    async accountOf(accessToken) {
      const account = await userOf(url, accessToken);
      if (account === undefined) throw new Error('the access token is not valid');
      return account;
    },
    setUnavailable: (value) => {
      unavailable = value;
      if (value) server.closeAllConnections();
    },
    alterTokenAnswers: (value) => {
      change = value;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}

/** Changes the answer when it is sent. */
function altered(response: ServerResponse, change: ChangeOfTokenAnswer): void {
  const end = response.end.bind(response);
  response.end = ((text: string) => {
    const { status = response.statusCode, body } = change({
      status: response.statusCode,
      body: JSON.parse(text) as never,
    });
    const sent = typeof body === 'string' ? body : JSON.stringify(body);
    response.statusCode = status;
    response.setHeader('content-type', typeof body === 'string' ? 'text/html' : 'application/json');
    response.setHeader('content-length', Buffer.byteLength(sent));
    return end(sent);
  }) as typeof response.end;
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
  const accountId = typeof params['login_hint'] === 'string' ? params['login_hint'] : crypto.randomUUID();
  const grant = new provider.Grant({ accountId, clientId: String(params['client_id']) });
  grant.addOIDCScope(String(params['scope']));
  const grantId = await grant.save();
  await provider.interactionFinished(incoming, response, { login: { accountId }, consent: { grantId } });
}

/** The access token's account; undefined if the token is not valid. */
async function userOf(url: string, accessToken: string): Promise<string | undefined> {
  const { statusCode, body } = await request(`${url}/me`, { headers: { authorization: `Bearer ${accessToken}` } });
  const user = (await body.json()) as { sub?: string };
  return statusCode === 200 ? user.sub : undefined;
}

/** Follows a sign-in's redirects, with cookies, until the app's redirect URL. */
async function authorize(endpoint: string, wanted: AuthorizationRequest): Promise<string> {
  const start = new URL(endpoint);
  const fields = { response_type: 'code', client_id: wanted.clientId, redirect_uri: wanted.redirectUrl };
  const { accountId, parameters, scopes } = wanted;
  const hint = accountId === undefined ? {} : { login_hint: accountId };
  start.search = new URLSearchParams({ ...fields, scope: scopes.join(' '), ...hint, ...parameters }).toString();
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
    if (typeof headers.location !== 'string') throw new Error(`the server returned ${statusCode}: ${text}`);
    next = new URL(headers.location, next).href;
  }
  const code = new URL(next).searchParams.get('code');
  if (code === null) throw new Error(`the server returned no code: ${next}`);
  return code;
}
