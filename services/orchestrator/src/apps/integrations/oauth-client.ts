import { createOutgoing, type Outgoing, type OutgoingProxy } from '@uswarm/service-kit/outgoing';
import { readText } from '../../platform/http/read-text.js';
import { type Grant, OAuthFailure, type ProviderAnswer, readGrant, readRevocation } from './oauth-answer.js';
import type { ProviderClient } from './provider-clients.js';
import type { Tokens } from './token-cipher.js';

export interface CodeExchange {
  code: string;
  /** Sent if the provider supports PKCE. */
  codeVerifier: string;
  redirectUrl: string;
}

/** Each method throws OAuthFailure. */
export interface OAuthClient {
  exchange(client: ProviderClient, exchange: CodeExchange): Promise<Grant>;
  /** Keeps the old refresh token if the provider does not return a new one. */
  refresh(client: ProviderClient, refreshToken: string): Promise<Grant>;
  /** Also resolves if the token was already invalid. */
  revoke(client: ProviderClient, tokens: Tokens): Promise<void>;
  close(): Promise<void>;
}

type Fields = Record<string, string>;
interface Ask {
  url: string;
  headers: Fields;
  body: string;
}

const TIMEOUT_MS = 15_000;
const MAX_RESPONSE_BYTES = 256 * 1024;

/** Hosts that may be private, unlike others that a tool server's metadata names. */
interface PrivateHosts {
  /** For operators' servers. */
  operators: readonly string[];
  /** For servers that users have added. */
  users: readonly string[];
}

const NO_HOSTS: PrivateHosts = { operators: [], users: [] };

export function createOAuthClient(proxy: OutgoingProxy, privateHosts = NO_HOSTS): OAuthClient {
  const limits = { connectMs: 5_000, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS };
  const configured = createOutgoing(proxy, limits);
  const discovered = createOutgoing(proxy, { ...limits, publicExcept: privateHosts.operators });
  const named = createOutgoing(proxy, { ...limits, publicExcept: privateHosts.users });

  function outgoingOf({ resource, isUserServer = false }: ProviderClient): Outgoing {
    if (isUserServer) return named;
    return resource === undefined ? configured : discovered;
  }

  async function ask(client: ProviderClient, { url, ...options }: Ask): Promise<ProviderAnswer> {
    const outgoing = outgoingOf(client);
    try {
      // Redirects are not followed, so that secrets are sent only to the configured address.
      const answer = await outgoing.request(url, {
        ...options,
        method: 'POST',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { status: answer.statusCode, body: await readText(answer.body, MAX_RESPONSE_BYTES) };
    } catch (error) {
      const { code, name } = error as { code?: unknown; name: string };
      throw new OAuthFailure('unavailable', typeof code === 'string' ? code : name, error);
    }
  }

  return {
    async exchange(client, { code, codeVerifier, redirectUrl }) {
      const verifier = client.pkce ? { code_verifier: codeVerifier } : {};
      const fields = {
        grant_type: 'authorization_code',
        code,
        redirect_uri: redirectUrl,
        ...verifier,
        ...resourceOf(client),
      };
      return readGrant(await ask(client, tokenRequest(client, fields)));
    },
    async refresh(client, refreshToken) {
      const fields = { grant_type: 'refresh_token', refresh_token: refreshToken, ...resourceOf(client) };
      return { refreshToken, ...readGrant(await ask(client, tokenRequest(client, fields))) };
    },
    async revoke(client, held) {
      const asked = revocationRequest(client, held);
      if (asked !== undefined) readRevocation(await ask(client, asked));
    },
    close: async () => void (await Promise.all([configured, discovered, named].map((outgoing) => outgoing.close()))),
  };
}

const resourceOf = ({ resource }: ProviderClient): Fields => (resource === undefined ? {} : { resource });

/** RFC 6749 §2.3.1 requires form encoding for both values first. */
function basic({ clientId, clientSecret = '' }: ProviderClient): Fields {
  const encoded = [clientId, clientSecret].map((part) => encodeURIComponent(part)).join(':');
  return { authorization: `Basic ${Buffer.from(encoded).toString('base64')}` };
}

function tokenRequest(client: ProviderClient, fields: Fields): Ask {
  return { url: client.tokenEndpoint, ...identified(client, fields) };
}

function identified(client: ProviderClient, fields: Fields): Pick<Ask, 'headers' | 'body'> {
  const { clientId, clientSecret, clientAuthentication } = client;
  const byHeader = clientAuthentication === 'basic' && clientSecret !== undefined;
  const secret = clientSecret === undefined ? {} : { client_secret: clientSecret };
  const all = byHeader ? fields : { ...fields, client_id: clientId, ...secret };
  return {
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(byHeader ? basic(client) : {}),
    },
    body: new URLSearchParams(all).toString(),
  };
}

function revocationRequest(client: ProviderClient, { accessToken, refreshToken }: Tokens): Ask | undefined {
  const { revocationEndpoint: url } = client;
  if (url === undefined) return undefined;
  const hint = refreshToken === undefined ? 'access_token' : 'refresh_token';
  return { url, ...identified(client, { token: refreshToken ?? accessToken, token_type_hint: hint }) };
}
