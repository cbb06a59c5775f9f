import { parseArgs } from 'node:util';
import { ConfigError, flag, loadConfig, port, secret, type SigningKey, signingKey } from '@uswarm/service-kit';
import { type OutgoingProxy, readProxy } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { type Credentials, resolveEndpoint } from './endpoint.js';

/** For a SearXNG behind Basic authentication. */
const credentialSettings = {
  SVC_SEARCH_USERNAME: secret(z.string().default('')),
  SVC_SEARCH_PASSWORD: secret(z.string().default('')),
};

const pageSettings = {
  /** Hosts inside the network whose pages may be read, also on other ports, separated by commas. */
  READ_PAGES_PRIVATE_HOSTS: z
    .string()
    .default('')
    .transform((hosts) =>
      hosts
        .split(',')
        .map((host) => host.trim().toLowerCase())
        .filter((host) => host !== ''),
    ),
};

const schema = z.object({
  ...credentialSettings,
  SVC_MCP_SIGNING_KEY: secret(signingKey),
  SVC_MCP_SIGNING_KEY_PREVIOUS: secret(signingKey.optional()),
  /** Port for runtimes. */
  HTTP_PORT: port.default(8080),
  /** `/livez`, `/readyz`, `/metrics`. */
  OPS_PORT: port.default(8081),
  /** Searches per workspace: started per minute, and concurrent. */
  SEARCH_RATE_PER_MINUTE: z.coerce.number().int().min(1).default(60),
  SEARCH_CONCURRENCY: z.coerce.number().int().min(1).default(4),
  /** Offer `read_page_tool`. */
  READ_PAGES: flag.default(true),
  ...pageSettings,
});

export interface SearchServiceConfig {
  /** Empty disables search. */
  endpoint: string;
  /** For an endpoint that contains none. */
  credentials: Credentials | undefined;
  keys: readonly SigningKey[];
  /** For a SearXNG outside the cluster. */
  proxy: OutgoingProxy;
  port: number;
  opsPort: number;
  limits: { perMinute: number; concurrent: number };
  /** Undefined: pages are not read. */
  pages: { privateHosts: string[] } | undefined;
}

/**
 * Reads the MCP server's settings from the environment and `--searxng-endpoint`.
 * @throws ConfigError
 */
export function loadSearchConfig(
  env: Record<string, string | undefined>,
  argv: readonly string[],
): SearchServiceConfig {
  const settings = loadConfig(schema, env);
  const keys = [settings.SVC_MCP_SIGNING_KEY, settings.SVC_MCP_SIGNING_KEY_PREVIOUS].filter((key) => key !== undefined);
  if (keys.length === 2 && keys[0]?.id === keys[1]?.id) {
    throw new ConfigError('SVC_MCP_SIGNING_KEY and SVC_MCP_SIGNING_KEY_PREVIOUS have the same key id');
  }
  return {
    // loadConfig treats an empty variable as unset, but here an empty one disables search.
    endpoint: resolveEndpoint({ flag: endpointFlag(argv), env }),
    credentials: credentialsOf(settings),
    keys,
    proxy: readProxy(env),
    port: settings.HTTP_PORT,
    opsPort: settings.OPS_PORT,
    limits: { perMinute: settings.SEARCH_RATE_PER_MINUTE, concurrent: settings.SEARCH_CONCURRENCY },
    pages: settings.READ_PAGES ? { privateHosts: settings.READ_PAGES_PRIVATE_HOSTS } : undefined,
  };
}

/** Hosts inside the network whose pages may be read. @throws ConfigError */
export const loadPrivateHosts = (env: Record<string, string | undefined>): string[] =>
  loadConfig(z.object(pageSettings), env).READ_PAGES_PRIVATE_HOSTS;

/** The credentials in the environment, if it has any. @throws ConfigError */
export function loadCredentials(env: Record<string, string | undefined>): Credentials | undefined {
  return credentialsOf(loadConfig(z.object(credentialSettings), env));
}

function credentialsOf(settings: {
  SVC_SEARCH_USERNAME: string;
  SVC_SEARCH_PASSWORD: string;
}): Credentials | undefined {
  const { SVC_SEARCH_USERNAME: username, SVC_SEARCH_PASSWORD: password } = settings;
  return username === '' && password === '' ? undefined : { username, password };
}

function endpointFlag(argv: readonly string[]): string | undefined {
  try {
    return parseArgs({ args: [...argv], options: { 'searxng-endpoint': { type: 'string' } } }).values[
      'searxng-endpoint'
    ];
  } catch (cause) {
    throw new ConfigError(cause instanceof Error ? cause.message : 'malformed arguments', { cause });
  }
}
