import { totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import {
  configuredProvider,
  CONNECTION_VARIABLES,
  MODEL_PROVIDER_METADATA,
  type ModelProvider,
} from '@uswarm/contract/providers';
import { ConfigError, corsOrigins, loadConfig, port } from '@uswarm/service-kit';
import { type OutgoingProxy, readProxy } from '@uswarm/service-kit/outgoing';
import { LocalError } from '@uswarm/dev-servers';
import { readEndpoint, WebSearchError } from '@uswarm/searxng-client';
import { z } from 'zod';
import { dataDirectory } from './data-folder.js';
import { MODEL_EXAMPLES } from './model-examples.js';
import { type Network, readNetwork } from './network.js';

const httpUrl = z.url({ protocol: /^https?$/, error: 'needs an http or https URL' });

function integerIn(least: number, most: number) {
  const error = `must be an integer from ${least} to ${most}`;
  return z.coerce.number(error).int(error).min(least, error).max(most, error);
}

/** Bytes from which a process that only waits is not missed. */
const ENOUGH_MEMORY = 4 * 1024 ** 3;

const baseUrls = Object.values(MODEL_PROVIDER_METADATA).flatMap(({ connection }) =>
  connection === undefined ? [] : [[connection.baseUrl, httpUrl.optional()]],
);

const Environment = z.object({
  USWARM_PORT: port.min(1, 'must be at least 1').default(8080),
  CORS_ORIGINS: corsOrigins.default([]),
  USWARM_MAX_RUNTIMES: integerIn(1, 1_000).default(8),
  USWARM_WARM_RUNTIMES: integerIn(0, 100).default(() => (totalmem() >= ENOUGH_MEMORY ? 1 : 0)),
  SVC_SEARCH_ENDPOINT: httpUrl.optional(),
  SVC_MCP_ENDPOINT: httpUrl.optional(),
  SVC_MCP_SIGNING_KEY: z
    .string()
    .regex(/^[^:\s]+:.{32,}$/, 'must be <id>:<secret> with at least 32 characters')
    .optional(),
  E2E_TOKEN: z.string().min(32, 'needs at least 32 characters').optional(),
  SIGNATURE_MODE: z.enum(['off', 'required'], 'must be off or required').default('off'),
  SIGNATURE_SECRET: z.string().min(16, 'needs at least 16 characters').optional(),
  USWARM_MODEL_CONTEXT_WINDOW: z.coerce.number().int().min(1_024, 'must be at least 1024').optional(),
  USWARM_MODEL_OUTPUT_LIMIT: z.coerce.number().int().min(64, 'must be at least 64').optional(),
  LOG_LEVEL: z
    .enum(
      ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'],
      'must be trace, debug, info, warn, error, fatal or silent',
    )
    .default('info'),
  ...(Object.fromEntries(baseUrls) as Record<string, z.ZodOptional<typeof httpUrl>>),
});

/** From arguments and environment. */
export interface Settings {
  port: number;
  network: Network;
  /** Origins whose pages may call, in addition to this machine's. */
  corsOrigins: readonly string[];
  dataDirectory: string;
  /** Maximum runtime processes. */
  maxRuntimes: number;
  /** Runtime processes that wait for a workspace. */
  warmRuntimes: number;
  /** The user's SearXNG, one that local mode starts, or none. */
  search: { kind: 'own'; endpoint: string } | { kind: 'searxng' } | { kind: 'off' };
  /** A running tool server, used in place of local mode's own. */
  toolServer: { endpoint: string; signingKey: string } | undefined;
  e2eToken: string | undefined;
  signature: { mode: 'off' | 'required'; secret: string | undefined };
  modelProvider: ModelProvider;
  logLevel: string;
  /** Proxies for calls that leave this machine. */
  proxy: OutgoingProxy;
  environment: Record<string, string | undefined>;
}

export const USAGE = `npm start [-- [--no-search] [--host <address>]]

  --host <address>
                listen on this address of the machine too, or with 0.0.0.0 on all, for phones and other machines.
                Every machine that reaches it can sign in as any user
  --no-search   do not start SearXNG, with which agents search the web (needs Python 3.11 or newer)
  --search      the default: start SearXNG, unless SVC_SEARCH_ENDPOINT names another one or is empty
  --help        this text

Environment: USWARM_PORT (8080), USWARM_DATA_DIR (.data), USWARM_MAX_RUNTIMES (8), USWARM_WARM_RUNTIMES (1), CORS_ORIGINS,
SVC_SEARCH_ENDPOINT, SVC_MCP_ENDPOINT with SVC_MCP_SIGNING_KEY, ${CONNECTION_VARIABLES.join(', ')},
TRANSCRIPTION_MODEL for voice messages,
USWARM_MODEL_CONTEXT_WINDOW, USWARM_MODEL_OUTPUT_LIMIT, E2E_TOKEN, SIGNATURE_MODE, SIGNATURE_SECRET, LOG_LEVEL,
HTTPS_PROXY, HTTP_PROXY, ALL_PROXY, NO_PROXY, PROXY_USERNAME, PROXY_PASSWORD

Models (docs/models.md); without one, the model demo answers:
${MODEL_EXAMPLES.map(({ server, environment }) => `  # ${server}\n  ${environment} npm start`).join('\n')}`;

/** @throws LocalError with one sentence. @returns undefined if `--help` is given. */
export function readSettings(
  args: readonly string[],
  environment: Record<string, string | undefined>,
): Settings | undefined {
  const options = readArguments(args);
  if (options.help === true) return undefined;
  const env = readEnvironment(environment);
  if (env.SIGNATURE_MODE === 'required' && env.SIGNATURE_SECRET === undefined) {
    throw new LocalError('SIGNATURE_MODE=required needs SIGNATURE_SECRET.');
  }
  const { SVC_MCP_ENDPOINT: toolEndpoint, SVC_MCP_SIGNING_KEY: signingKey } = env;
  if (toolEndpoint !== undefined && signingKey === undefined) {
    throw new LocalError('SVC_MCP_ENDPOINT needs SVC_MCP_SIGNING_KEY, with which the tool server checks tokens.');
  }
  return {
    port: env.USWARM_PORT,
    network: readNetwork(options.host),
    corsOrigins: env.CORS_ORIGINS,
    dataDirectory: dataDirectory(environment),
    maxRuntimes: env.USWARM_MAX_RUNTIMES,
    warmRuntimes: env.USWARM_WARM_RUNTIMES,
    search: readSearch(options, environment),
    toolServer:
      toolEndpoint === undefined || signingKey === undefined ? undefined : { endpoint: toolEndpoint, signingKey },
    e2eToken: env.E2E_TOKEN,
    signature: { mode: env.SIGNATURE_MODE, secret: env.SIGNATURE_SECRET },
    modelProvider: configuredProvider(environment),
    logLevel: env.LOG_LEVEL,
    proxy: env.proxy,
    environment,
  };
}

function readSearch(
  options: ReturnType<typeof readArguments>,
  environment: Record<string, string | undefined>,
): Settings['search'] {
  if (options['no-search'] === true) return { kind: 'off' };
  const endpoint = environment['SVC_SEARCH_ENDPOINT']?.trim();
  // As for the search tool elsewhere, an explicitly empty endpoint disables search.
  if (endpoint === '' && options.search !== true) return { kind: 'off' };
  if (endpoint === undefined || endpoint === '') return { kind: 'searxng' };
  try {
    readEndpoint(endpoint, '');
  } catch (error) {
    if (!(error instanceof WebSearchError)) throw error;
    throw new LocalError(`SVC_SEARCH_ENDPOINT is not valid: ${error.message.replace(/^\w+: /, '')}.`, { cause: error });
  }
  return { kind: 'own', endpoint };
}

function readArguments(args: readonly string[]) {
  try {
    const options = {
      search: { type: 'boolean' },
      'no-search': { type: 'boolean' },
      host: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    } as const;
    const { values } = parseArgs({ args: [...args], options, strict: true });
    if (values.search !== true || values['no-search'] !== true) return values;
  } catch (error) {
    throw new LocalError(`${(error as Error).message.split('. ')[0]}. Try npm start -- --help.`, { cause: error });
  }
  throw new LocalError('--search and --no-search exclude each other. Try npm start -- --help.');
}

function readEnvironment(environment: Record<string, string | undefined>) {
  try {
    return { ...loadConfig(Environment, environment), proxy: readProxy(environment) };
  } catch (error) {
    if (error instanceof ConfigError)
      throw new LocalError(`${error.message.replaceAll('\n', '; ')}.`, { cause: error });
    throw error;
  }
}
