import {
  ConfigError,
  headerSecret,
  list,
  loadConfig,
  parseSigningKey,
  port,
  secret,
  secretText,
  type SigningKey,
  signingKey,
} from '@uswarm/service-kit';
import { type OutgoingProxy, readProxy } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { CATALOGUE_IDS, type ModelNames } from './model-names.js';
import { PROTOCOLS } from './protocols/protocols.js';
import type { ProviderName } from './protocols/protocol.js';

const httpUrl = z.url({ protocol: /^https?$/ });
const name = z.string().min(1).max(256);
const count = z.coerce.number().int().min(1);

const schema = z.object({
  /** `<id>:<secret>`, with which the orchestrator signs model tokens. */
  MODEL_TOKEN_SIGNING_KEY: secret(signingKey),
  MODEL_TOKEN_SIGNING_KEY_PREVIOUS: secret(signingKey.optional()),
  /** Origin of the orchestrator's internal API. */
  INTERNAL_API_URL: httpUrl,
  /** `<id>:<secret>`, shared with the orchestrator. Only opens the routes for model calls. */
  MODEL_CALLS_KEY: secret(secretText(32)),

  // A provider is configured if its key or its base URL is set.
  OPENAI_BASE_URL: httpUrl.optional(),
  OPENAI_API_KEY: secret(headerSecret(1).optional()),
  OPENAI_MODEL: name.optional(),
  OPENAI_MODEL_FLASH: name.optional(),
  OPENAI_MODEL_SONNET: name.optional(),
  OPENAI_MODEL_OPUS: name.optional(),
  /** Further names that runtimes may request, comma-separated. */
  OPENAI_ALLOWED_MODELS: list.default([]),
  ANTHROPIC_BASE_URL: httpUrl.optional(),
  ANTHROPIC_API_KEY: secret(headerSecret(1).optional()),
  ANTHROPIC_MODEL: name.optional(),
  ANTHROPIC_MODEL_FLASH: name.optional(),
  ANTHROPIC_MODEL_SONNET: name.optional(),
  ANTHROPIC_MODEL_OPUS: name.optional(),
  ANTHROPIC_ALLOWED_MODELS: list.default([]),

  /** The runtimes' default model: a model id from the catalogue or a provider's name. */
  USWARM_DEFAULT_MODEL: name.optional(),
  /** Maximum output tokens of a call; a higher limit in a request is lowered. */
  USWARM_MODEL_OUTPUT_LIMIT: count.default(32_768),
  /** Calls per workspace and replica: started per minute, and concurrent. */
  MODEL_CALLS_PER_MINUTE: count.default(120),
  MODEL_CALLS_CONCURRENT: count.default(8),

  HTTP_HOST: z.string().optional(),
  HTTP_PORT: port.default(8080),
  /** `/livez`, `/readyz`, `/metrics`. */
  OPS_PORT: port.default(8081),
  /** Seconds that running calls may take after SIGTERM; then they are cut. */
  SHUTDOWN_GRACE_S: z.coerce.number().int().min(0).max(3_600).default(30),
  LOG_LEVEL: z.string().default('info'),
});

/** A configured provider. */
export interface ProviderConfig {
  baseUrl: string;
  apiKey: string | undefined;
  models: ModelNames;
}

export interface ModelGatewayConfig {
  /** Model token keys: the current one and, during a rotation, the previous one. */
  tokenKeys: readonly SigningKey[];
  internalApi: { url: string; key: SigningKey };
  providers: Partial<Record<ProviderName, ProviderConfig>>;
  outputLimit: number;
  limits: { perMinute: number; concurrent: number };
  /** Proxies for provider calls. */
  proxy: OutgoingProxy;
  host: string | undefined;
  port: number;
  opsPort: number;
  shutdownGraceMs: number;
  logLevel: string;
}

/** Reads the settings from the environment. @throws ConfigError */
export function loadModelGatewayConfig(env: Record<string, string | undefined>): ModelGatewayConfig {
  const settings = loadConfig(schema, env);
  const { MODEL_TOKEN_SIGNING_KEY: current, MODEL_TOKEN_SIGNING_KEY_PREVIOUS: previous } = settings;
  if (previous?.id === current.id) {
    throw new ConfigError('MODEL_TOKEN_SIGNING_KEY and MODEL_TOKEN_SIGNING_KEY_PREVIOUS have the same key id');
  }
  const providers = providersOf(settings);
  if (Object.keys(providers).length === 0) {
    throw new ConfigError('no model provider is configured: set OPENAI_API_KEY or ANTHROPIC_API_KEY');
  }
  return {
    tokenKeys: previous === undefined ? [current] : [current, previous],
    internalApi: { url: settings.INTERNAL_API_URL, key: parseSigningKey(settings.MODEL_CALLS_KEY) },
    providers,
    outputLimit: settings.USWARM_MODEL_OUTPUT_LIMIT,
    limits: { perMinute: settings.MODEL_CALLS_PER_MINUTE, concurrent: settings.MODEL_CALLS_CONCURRENT },
    proxy: readProxy(env),
    host: settings.HTTP_HOST,
    port: settings.HTTP_PORT,
    opsPort: settings.OPS_PORT,
    shutdownGraceMs: settings.SHUTDOWN_GRACE_S * 1_000,
    logLevel: settings.LOG_LEVEL,
  };
}

function providersOf(settings: z.output<typeof schema>): ModelGatewayConfig['providers'] {
  const providers: ModelGatewayConfig['providers'] = {};
  const { USWARM_DEFAULT_MODEL: preferred } = settings;
  const preferredName = CATALOGUE_IDS.some((id) => id === preferred) ? undefined : preferred;
  for (const { provider, defaultBaseUrl, baseUrlOf } of PROTOCOLS) {
    const prefix = provider === 'openai' ? 'OPENAI' : 'ANTHROPIC';
    const { [`${prefix}_BASE_URL` as const]: baseUrl, [`${prefix}_API_KEY` as const]: apiKey } = settings;
    if (baseUrl === undefined && apiKey === undefined) continue;
    providers[provider] = {
      baseUrl: baseUrlOf(baseUrl ?? defaultBaseUrl),
      apiKey,
      models: {
        fallback: settings[`${prefix}_MODEL`] ?? preferredName,
        byId: {
          flash: settings[`${prefix}_MODEL_FLASH`],
          sonnet: settings[`${prefix}_MODEL_SONNET`],
          opus: settings[`${prefix}_MODEL_OPUS`],
        },
        further: [...settings[`${prefix}_ALLOWED_MODELS`], ...(preferredName === undefined ? [] : [preferredName])],
      },
    };
  }
  return providers;
}
