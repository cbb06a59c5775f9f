import { parseArgs } from 'node:util';
import { ConfigError, flag, loadConfig, port, secret, type SigningKey, signingKey } from '@uswarm/service-kit';
import { z } from 'zod';
import { resolveEndpoint } from './endpoint.js';

const schema = z.object({
  SVC_MCP_SIGNING_KEY: secret(signingKey),
  SVC_MCP_SIGNING_KEY_PREVIOUS: secret(signingKey.optional()),
  /** Accept tokens without an expiry. Pods of release 0.2 use them until they are replaced. */
  ACCEPT_UNLIMITED_TOKENS: flag.default(false),
  /** Port for runtimes. */
  HTTP_PORT: port.default(8080),
  /** `/livez`, `/readyz`, `/metrics`. */
  OPS_PORT: port.default(8081),
  /** Searches per workspace: started per minute, and concurrent. */
  SEARCH_RATE_PER_MINUTE: z.coerce.number().int().min(1).default(60),
  SEARCH_CONCURRENCY: z.coerce.number().int().min(1).default(4),
});

export interface SearchServiceConfig {
  /** Empty disables search. */
  endpoint: string;
  keys: readonly SigningKey[];
  acceptUnlimitedTokens: boolean;
  port: number;
  opsPort: number;
  limits: { perMinute: number; concurrent: number };
}

/**
 * Reads the settings of the MCP server from the environment and `--searxng-endpoint`.
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
    keys,
    acceptUnlimitedTokens: settings.ACCEPT_UNLIMITED_TOKENS,
    port: settings.HTTP_PORT,
    opsPort: settings.OPS_PORT,
    limits: { perMinute: settings.SEARCH_RATE_PER_MINUTE, concurrent: settings.SEARCH_CONCURRENCY },
  };
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
