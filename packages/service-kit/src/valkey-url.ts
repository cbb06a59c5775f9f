import { z } from 'zod';

/** A parsed Valkey or Redis URL: the servers to ask, and how to connect to them. */
export interface ValkeyTarget {
  /** `cluster` and `sentinel` ask `nodes` where the primaries are. */
  kind: 'single' | 'cluster' | 'sentinel';
  nodes: readonly ValkeyAddress[];
  tls: boolean;
  credentials: ValkeyCredentials;
  database: number;
  /** Of `sentinel` only. */
  sentinel?: { master: string; credentials: ValkeyCredentials };
}

export interface ValkeyAddress {
  host: string;
  port: number;
}

export interface ValkeyCredentials {
  username?: string;
  password?: string;
}

const URL_PARTS =
  /^redis(?<tls>s?)(?:-(?<kind>cluster|sentinel))?:\/\/(?:(?<user>[^@]*)@)?(?<hosts>[^/?@]+)(?:\/(?<database>\d*))?(?:\?(?<query>.*))?$/;
const HOST = /^(?<host>\[[0-9a-f:.]+\]|[^:[\]\s]+)(?::(?<port>\d{1,5}))?$/i;
const PORTS = { single: 6379, cluster: 6379, sentinel: 26379 };

/**
 * - `redis://[user:password@]host[:port][/database]`: one server
 * - `redis-cluster://[user:password@]host[:port][,host[:port]…]`: any nodes of a cluster
 * - `redis-sentinel://[user:password@]host[:port][,host[:port]…][/database]?master=name`: sentinels; their own
 *   credentials are `sentinelUsername` and `sentinelPassword`
 *
 * `rediss` instead of `redis` uses TLS. Credentials are percent-encoded.
 * @throws Error that names the wrong part, without its value
 */
export function parseValkeyUrl(url: string): ValkeyTarget {
  const parts = URL_PARTS.exec(url)?.groups;
  if (parts === undefined)
    throw new Error(`must be redis://…, redis-cluster://… or redis-sentinel://…, or with rediss`);
  const kind = (parts['kind'] ?? 'single') as ValkeyTarget['kind'];
  const nodes = (parts['hosts'] ?? '').split(',').map((text) => parseHost(text, PORTS[kind]));
  if (kind === 'single' && nodes.length > 1) throw new Error('redis:// takes one host; see redis-cluster://');
  const [username = '', ...password] = (parts['user'] ?? '').split(':');
  return {
    kind,
    nodes,
    tls: parts['tls'] === 's',
    credentials: credentialsOf(decodePart(username), decodePart(password.join(':'))),
    database: Number(parts['database'] || 0),
    ...(kind === 'sentinel' && { sentinel: parseSentinel(parts['query'] ?? '') }),
  };
}

function parseSentinel(query: string): NonNullable<ValkeyTarget['sentinel']> {
  const values = new URLSearchParams(query);
  const master = values.get('master');
  if (master === null || master === '') throw new Error('redis-sentinel:// requires ?master=');
  const credentials = credentialsOf(values.get('sentinelUsername') ?? '', values.get('sentinelPassword') ?? '');
  return { master, credentials };
}

function parseHost(text: string, defaultPort: number): ValkeyAddress {
  const { host, port } = HOST.exec(text)?.groups ?? {};
  if (host === undefined) throw new Error('a host of the URL is malformed');
  return { host: host.replace(/^\[|\]$/g, ''), port: Number(port ?? defaultPort) };
}

function decodePart(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Error('the credentials of the URL are not percent-encoded');
  }
}

const credentialsOf = (username: string, password: string): ValkeyCredentials => ({
  ...(username !== '' && { username }),
  ...(password !== '' && { password }),
});

/** A setting with a URL that `parseValkeyUrl` accepts. */
export const valkeyUrl = z.string().superRefine((url, context) => {
  try {
    parseValkeyUrl(url);
  } catch (error) {
    context.addIssue({ code: 'custom', message: (error as Error).message });
  }
});
