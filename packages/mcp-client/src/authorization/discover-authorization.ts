import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  extractWWWAuthenticateParams,
  LATEST_PROTOCOL_VERSION,
  PROTOCOL_VERSION_META_KEY,
} from '@modelcontextprotocol/client';
import { isScope } from '../scopes.js';
import { AuthorizationFailure, quoted } from './authorization-failure.js';
import { type Answer, ask, isPassing, isRedirect, type RequestOptions } from './limited-request.js';
import { readResourceMetadata, readServerMetadata, secureUrl, type ServerMetadata } from './server-metadata.js';

/** Everything that a client needs to connect an MCP server's accounts. */
export interface AuthorizationServer {
  /** Expected `iss` in a callback (RFC 9207). Undefined for a server without metadata. */
  issuer?: string;
  authorizationEndpoint: string;
  tokenEndpoint: string;
  registrationEndpoint?: string;
  revocationEndpoint?: string;
  /** The parameter `resource` (RFC 8707). */
  resource: string;
  /** Scopes to request. If empty, the parameter `scope` is not sent. */
  scopes: string[];
  /** How clients may authenticate at the token endpoint. */
  tokenAuthMethods: string[];
  /** The server verifies the code challenge `S256`. Assumed for a server without metadata. */
  pkce: boolean;
  /** Each callback contains `iss`. */
  issuesCallbackIssuer: boolean;
}

export interface DiscoveryRequest extends RequestOptions {
  /** The MCP endpoint. */
  url: string;
}

/**
 * Finds out how an MCP server's accounts are connected: from its challenge, its metadata (RFC 9728), and the metadata
 * that its authorization server publishes (RFC 8414).
 *
 * @returns undefined if the server needs no account
 * @throws AuthorizationFailure; the reason of `signal`
 */
export async function discoverAuthorization(request: DiscoveryRequest): Promise<AuthorizationServer | undefined> {
  const url = URL.parse(request.url);
  if (url === null) throw new AuthorizationFailure('invalid', `not the address of a server: ${quoted(request.url)}`);
  if (url.username !== '' || url.password !== '')
    throw new AuthorizationFailure('invalid', 'the address of the server contains credentials');
  const challenge = await challengeOf(url, request);
  const resource = await readResourceMetadata(url, challenge?.resourceMetadata, request).catch((error: unknown) => {
    // Without a challenge, the address may be any page.
    if (challenge === undefined && error instanceof AuthorizationFailure && error.kind === 'invalid') return undefined;
    throw error;
  });
  const [named] = resource?.authorization_servers ?? [];
  if (challenge === undefined && named === undefined) return undefined;
  // A server on the platform's network may do without https, but not if tokens are sent to it.
  secureUrl(request.url, 'the server wants an account, so its address');

  const issuer = named === undefined ? new URL(url.origin) : secureUrl(named, 'the authorization server');
  const metadata = await readServerMetadata(issuer, request);
  if (metadata === undefined && named !== undefined) {
    const message = `the authorization server ${quoted(named)} publishes no metadata`;
    throw new AuthorizationFailure('unsupported', message);
  }
  return {
    ...(metadata === undefined ? withoutMetadata(url) : fromMetadata(metadata)),
    resource: resource?.resource ?? canonicalUrl(url),
    scopes: (challenge?.scopes ?? resource?.scopes_supported ?? []).filter(isScope),
  };
}

interface Challenge {
  resourceMetadata?: URL | undefined;
  scopes?: string[] | undefined;
}

const CLIENT = { name: 'account discovery', version: '1' };
const MODERN = '2026-07-28';

/** Some servers want an account only for the second one, which has the form of the protocol without sessions. */
const PROBES = [
  {
    headers: {},
    method: 'initialize',
    params: { protocolVersion: LATEST_PROTOCOL_VERSION, capabilities: {}, clientInfo: CLIENT },
  },
  {
    headers: { 'mcp-protocol-version': MODERN, 'mcp-method': 'tools/list' },
    method: 'tools/list',
    params: {
      _meta: {
        [PROTOCOL_VERSION_META_KEY]: MODERN,
        [CLIENT_INFO_META_KEY]: CLIENT,
        [CLIENT_CAPABILITIES_META_KEY]: {},
      },
    },
  },
];

/** Undefined if the server answers requests without a token. */
async function challengeOf(url: URL, options: RequestOptions): Promise<Challenge | undefined> {
  for (const { headers, method, params } of PROBES) {
    const types = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method, params });
    const init = { method: 'POST', headers: { ...types, ...headers }, body };
    const challenge = challengeIn(await ask({ url, init, readsBody: false }, options), url);
    if (challenge !== undefined) return challenge;
  }
  return undefined;
}

function challengeIn({ status, headers }: Answer, url: URL): Challenge | undefined {
  const address = quoted(url.href);
  if (isPassing(status)) throw new AuthorizationFailure('unreachable', `${address} answered status ${status}`);
  if (status === 401 || (status >= 400 && headers.has('www-authenticate'))) {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(new Response(null, { headers }));
    const scopes = scope?.split(' ').filter((part) => part !== '');
    if (resourceMetadataUrl === undefined) return { scopes };
    return { scopes, resourceMetadata: secureUrl(resourceMetadataUrl.href, 'the metadata of the server') };
  }
  // A server that only speaks another protocol version answers 400.
  if (status < 300 || status === 400) return undefined;
  const problem = isRedirect(status) ? 'redirects, which is not followed' : `answered status ${status}`;
  throw new AuthorizationFailure('unsupported', `${address} ${problem}; check the address of the server`);
}

type Endpoints = Omit<AuthorizationServer, 'resource' | 'scopes'>;

/** RFC 8414 §2 */
const DEFAULT_METHODS = ['client_secret_basic'];

function fromMetadata(metadata: ServerMetadata): Endpoints {
  const { issuer, registration_endpoint: registration, revocation_endpoint: revocation } = metadata;
  return {
    issuer,
    authorizationEndpoint: endpoint(metadata.authorization_endpoint, 'authorization_endpoint'),
    tokenEndpoint: endpoint(metadata.token_endpoint, 'token_endpoint'),
    ...(registration === undefined ? {} : { registrationEndpoint: endpoint(registration, 'registration_endpoint') }),
    ...(revocation === undefined ? {} : { revocationEndpoint: endpoint(revocation, 'revocation_endpoint') }),
    tokenAuthMethods: metadata.token_endpoint_auth_methods_supported ?? DEFAULT_METHODS,
    pkce: metadata.code_challenge_methods_supported?.includes('S256') ?? false,
    issuesCallbackIssuer: metadata.authorization_response_iss_parameter_supported ?? false,
  };
}

const endpoint = (address: string, field: string): string =>
  secureUrl(address, `the ${field} in the metadata of the authorization server`).href;

/** The addresses that the MCP specification of 2025-03-26 gives to a server without metadata. */
const withoutMetadata = ({ origin }: URL): Endpoints => ({
  authorizationEndpoint: `${origin}/authorize`,
  tokenEndpoint: `${origin}/token`,
  registrationEndpoint: `${origin}/register`,
  tokenAuthMethods: DEFAULT_METHODS,
  pkce: true,
  issuesCallbackIssuer: false,
});

/** Canonical as the MCP specification defines it: no fragment, and no slash without a path. */
function canonicalUrl({ origin, pathname, search }: URL): string {
  return `${origin}${pathname === '/' ? '' : pathname}${search}`;
}
