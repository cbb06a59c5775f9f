import {
  CATALOGUE_IDS,
  type CatalogueId,
  type ConnectedProvider,
  PROVIDER_CONNECTIONS,
  type ProviderConnection,
} from '@uswarm/contract/providers';
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
import type { ModelNames } from './model-names.js';
import { openai } from './protocols/openai.js';
import { PROVIDERS } from './providers.js';

const httpUrl = z.url({ protocol: /^https?$/ });
const name = z.string().min(1).max(256);
const count = z.coerce.number().int().min(1);

const baseUrl = httpUrl.optional();
const apiKey = secret(headerSecret(1).optional());
const model = name.optional();
const models = list.default([]);
type ProviderVariables = Record<ProviderConnection['baseUrl'], typeof baseUrl> &
  Record<ProviderConnection['apiKey'], typeof apiKey> &
  Record<ProviderConnection['model'] | ProviderConnection['models'][CatalogueId], typeof model> &
  Record<ProviderConnection['allowedModels'], typeof models>;

/** A provider is configured if its key or its base URL is set. */
const providerVariables = Object.fromEntries(
  Object.values(PROVIDER_CONNECTIONS).flatMap((names) => [
    [names.baseUrl, baseUrl],
    [names.apiKey, apiKey],
    ...[names.model, ...Object.values(names.models)].map((each) => [each, model]),
    [names.allowedModels, models],
  ]),
) as ProviderVariables;

const schema = z.object({
  /** `<id>:<secret>`, with which the orchestrator signs model tokens. */
  MODEL_TOKEN_SIGNING_KEY: secret(signingKey),
  MODEL_TOKEN_SIGNING_KEY_PREVIOUS: secret(signingKey.optional()),
  /** Origin of the orchestrator's internal API. */
  INTERNAL_API_URL: httpUrl,
  /** `<id>:<secret>`, shared with the orchestrator. Only opens the routes for model calls. */
  MODEL_CALLS_KEY: secret(secretText(32)),

  ...providerVariables,
  /** The provider's model for recordings. Without it, recordings are not transcribed. */
  TRANSCRIPTION_MODEL: name.optional(),
  /** Another server for it, with OpenAI's `/audio/transcriptions`. Default: the OpenAI provider. */
  TRANSCRIPTION_BASE_URL: baseUrl,
  TRANSCRIPTION_API_KEY: apiKey,
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

/** The server that transcribes recordings. */
export interface TranscriptionConfig {
  model: string;
  baseUrl: string;
  apiKey: string | undefined;
}

export interface ModelGatewayConfig {
  /** Model token keys: the current one and, during a rotation, the previous one. */
  tokenKeys: readonly SigningKey[];
  internalApi: { url: string; key: SigningKey };
  providers: Partial<Record<ConnectedProvider, ProviderConfig>>;
  transcription: TranscriptionConfig | undefined;
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
    const keys = PROVIDERS.map(({ connection }) => connection.apiKey).join(' or ');
    throw new ConfigError(`no model provider is configured: set ${keys}`);
  }
  return {
    tokenKeys: previous === undefined ? [current] : [current, previous],
    internalApi: { url: settings.INTERNAL_API_URL, key: parseSigningKey(settings.MODEL_CALLS_KEY) },
    providers,
    transcription: transcriptionOf(settings, providers),
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

function transcriptionOf(
  settings: z.output<typeof schema>,
  { openai: own }: ModelGatewayConfig['providers'],
): TranscriptionConfig | undefined {
  const { TRANSCRIPTION_MODEL: named, TRANSCRIPTION_BASE_URL: url, TRANSCRIPTION_API_KEY: key } = settings;
  if (named === undefined) return undefined;
  // The provider's key must not reach another server.
  if (url !== undefined) return { model: named, baseUrl: openai.baseUrlOf(url), apiKey: key };
  if (own !== undefined) return { model: named, baseUrl: own.baseUrl, apiKey: key ?? own.apiKey };
  if (key !== undefined) return { model: named, baseUrl: PROVIDER_CONNECTIONS.openai.defaultBaseUrl, apiKey: key };
  throw new ConfigError('TRANSCRIPTION_MODEL needs TRANSCRIPTION_BASE_URL, TRANSCRIPTION_API_KEY or OPENAI_API_KEY');
}

function providersOf(settings: z.output<typeof schema>): ModelGatewayConfig['providers'] {
  const providers: ModelGatewayConfig['providers'] = {};
  const { USWARM_DEFAULT_MODEL: preferred } = settings;
  const preferredName = CATALOGUE_IDS.some((id) => id === preferred) ? undefined : preferred;
  for (const { name: provider, protocol, connection } of PROVIDERS) {
    const { [connection.baseUrl]: url, [connection.apiKey]: key } = settings;
    if (url === undefined && key === undefined) continue;
    const named = CATALOGUE_IDS.map((id) => [id, settings[connection.models[id]]] as const);
    providers[provider] = {
      baseUrl: protocol.baseUrlOf(url ?? connection.defaultBaseUrl),
      apiKey: key,
      models: {
        fallback: settings[connection.model] ?? preferredName,
        byId: Object.fromEntries(named) as ModelNames['byId'],
        further: [...settings[connection.allowedModels], ...(preferredName === undefined ? [] : [preferredName])],
      },
    };
  }
  return providers;
}
