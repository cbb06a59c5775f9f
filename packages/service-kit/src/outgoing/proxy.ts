import { z } from 'zod';
import { ConfigError, loadConfig } from '../config.js';
import { secret } from '../secret-files.js';
import { createBypass } from './no-proxy.js';

/** A forward proxy. */
export interface ProxyServer {
  /** Scheme, host and port. */
  origin: string;
  /** The value of Proxy-Authorization, if the proxy requires one. */
  authorization: string | undefined;
}

/** Proxies for outgoing calls. */
export interface OutgoingProxy {
  /** The proxy for a URL; undefined for a direct connection. */
  serverFor(url: URL): ProxyServer | undefined;
  /** Proxy origins, for logs. */
  readonly origins: readonly string[];
}

/** No proxy. */
export const DIRECT: OutgoingProxy = { serverFor: () => undefined, origins: [] };

const PROXY_URL =
  'must be the URL of a proxy, such as http://proxy.example.com:3128 (http or https; special characters in its password are percent-encoded)';

const proxyUrl = z.string().transform((text, context): ProxyServer => {
  const server = parseProxyUrl(text.trim());
  if (server !== undefined) return server;
  context.addIssue({ code: 'custom', message: PROXY_URL });
  return z.NEVER;
});

const text = z.string().default('');

/** Lower case comes first, as in most programs. */
const VARIABLES = {
  https: ['https_proxy', 'HTTPS_PROXY', 'all_proxy', 'ALL_PROXY'],
  http: ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'],
  noProxy: ['no_proxy', 'NO_PROXY'],
} as const;

const credentialSettings = { PROXY_USERNAME: secret(text), PROXY_PASSWORD: secret(text) };

/**
 * Reads HTTPS_PROXY, HTTP_PROXY, ALL_PROXY and NO_PROXY, in upper or lower case, and PROXY_USERNAME and PROXY_PASSWORD for
 * proxies whose URL has no user name.
 *
 * @throws ConfigError that does not contain the values
 */
export function readProxy(env: Record<string, string | undefined>): OutgoingProxy {
  const named = {
    https: firstOf(env, VARIABLES.https),
    http: firstOf(env, VARIABLES.http),
    noProxy: firstOf(env, VARIABLES.noProxy),
  };
  const names = [named.https, named.http].filter((name) => name !== undefined);
  if (names.length === 0) return DIRECT;
  const shape = Object.fromEntries(names.map((name) => [name, secret(proxyUrl)] as const));
  const servers = loadConfig(z.object(shape), env);
  const authorization = authorizationOf(loadConfig(z.object(credentialSettings), env));
  const withCredentials = (name: string | undefined): ProxyServer | undefined => {
    const server = name === undefined ? undefined : servers[name];
    return server && { ...server, authorization: server.authorization ?? authorization };
  };
  const byScheme = { https: withCredentials(named.https), http: withCredentials(named.http) };
  const bypasses = createBypass(named.noProxy === undefined ? '' : (env[named.noProxy] ?? ''));
  const known = [byScheme.https, byScheme.http].filter((server) => server !== undefined);
  return {
    serverFor({ protocol, hostname, port }) {
      const scheme = protocol === 'https:' ? 'https' : 'http';
      const actualPort = port === '' ? (scheme === 'https' ? 443 : 80) : Number(port);
      return bypasses(hostname, actualPort) ? undefined : byScheme[scheme];
    },
    origins: [...new Set(known.map(({ origin }) => origin))],
  };
}

/** The first variable that is set. A variable named `<NAME>_FILE` is the path of a file with its value. */
function firstOf(env: Record<string, string | undefined>, names: readonly string[]): string | undefined {
  return names.find((name) => (env[name] ?? '') !== '' || (env[`${name}_FILE`] ?? '') !== '');
}

function parseProxyUrl(value: string): ProxyServer | undefined {
  // Without a scheme it is http, as in other programs.
  const full = value.includes('://') ? value : `http://${value}`;
  try {
    const { protocol, hostname, origin, username, password } = new URL(full);
    if (!/^https?:$/.test(protocol) || hostname === '') return undefined;
    if (username === '' && password === '') return { origin, authorization: undefined };
    const credentials = [username, password].map(decodeURIComponent).join(':');
    return { origin, authorization: basic(credentials) };
  } catch {
    return undefined;
  }
}

function authorizationOf({
  PROXY_USERNAME: username,
  PROXY_PASSWORD: password,
}: {
  PROXY_USERNAME: string;
  PROXY_PASSWORD: string;
}): string | undefined {
  if (username === '' && password !== '') throw new ConfigError('PROXY_PASSWORD is set without PROXY_USERNAME');
  if (username.includes(':')) throw new ConfigError('PROXY_USERNAME is not valid: must not contain a colon');
  return username === '' ? undefined : basic(`${username}:${password}`);
}

const basic = (credentials: string): string => `Basic ${Buffer.from(credentials).toString('base64')}`;
