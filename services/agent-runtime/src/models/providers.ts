import {
  CATALOGUE_IDS,
  type CatalogueId,
  configuredProvider,
  MODEL_PROVIDERS,
  type ModelProtocol,
  type ModelProvider as ProviderId,
  PROVIDER_CONNECTIONS,
  type ProviderConnection,
} from '@uswarm/contract/providers';
import { z } from 'zod';
import { lazyPort } from './lazy-port.js';
import type { LearnedPartsDeps } from './learned-parts.js';
import type { ModelNames } from './model-names.js';
import type { ModelPort } from './port.js';
import type { AdapterOptions, ProviderAdapter } from './providers/adapter.js';

const milliseconds = z.coerce.number().int().min(0);
// Variables share a schema, because each schema takes some kilobytes in every runtime.
const text = z.string().optional();
const url = z.url({ protocol: /^https?$/ }).optional();

type ConnectionVariables = Record<ProviderConnection['baseUrl'], typeof url> &
  Record<ProviderConnection['apiKey' | 'model'] | ProviderConnection['models'][CatalogueId], typeof text>;

const connectionVariables = Object.fromEntries(
  Object.values(PROVIDER_CONNECTIONS).flatMap(({ baseUrl, apiKey, model, models }) => [
    [baseUrl, url],
    ...[apiKey, model, ...Object.values(models)].map((name) => [name, text]),
  ]),
) as ConnectionVariables;

/** Variables for all providers. */
export const modelVariables = {
  ...connectionVariables,
  USWARM_DEFAULT_PROVIDER: z.enum(MODEL_PROVIDERS).optional(),
  USWARM_DEFAULT_MODEL: text,
  /** The gateway to the providers; runtimes then have no key, and each turn has a token. */
  MODEL_GATEWAY_URL: url,
  /** Tokens of prompt and output, for models that the catalogue does not describe. */
  USWARM_MODEL_CONTEXT_WINDOW: z.coerce.number().int().min(1_024).optional(),
  /** Output tokens per call, likewise. */
  USWARM_MODEL_OUTPUT_LIMIT: z.coerce.number().int().min(64).optional(),
  /**
   * Between two response parts; twice as long until the first. At most 5 minutes: above, the HTTP client's limits apply
   * first.
   */
  USWARM_MODEL_TIMEOUT_MS: milliseconds.min(1).max(300_000).default(60_000),
  /** All waits together, before a failed call is repeated. */
  USWARM_MODEL_RETRY_MS: milliseconds.max(600_000).default(120_000),
  USWARM_DEMO_DELAY_MS: milliseconds.default(15),
};

export type ModelVariables = z.output<z.ZodObject<typeof modelVariables>>;

function namesOf({ model, models }: ProviderConnection, env: ModelVariables): ModelNames {
  const named = CATALOGUE_IDS.map((id) => [id, env[models[id]]] as const).filter(([, name]) => name !== undefined);
  // The gateway translates catalogue ids.
  const own = env.MODEL_GATEWAY_URL === undefined ? [] : CATALOGUE_IDS.map((id) => [id, id] as const);
  return {
    byId: Object.fromEntries([...own, ...named]),
    fallback: env[model],
    preferred: env.USWARM_DEFAULT_MODEL,
    variable: model,
  };
}

/** A provider's base URL behind the gateway. */
const behindGateway = (env: ModelVariables, provider: string): string | undefined =>
  env.MODEL_GATEWAY_URL === undefined ? undefined : `${env.MODEL_GATEWAY_URL.replace(/\/+$/, '')}/${provider}/v1`;

/** Loaders by protocol. Client libraries are loaded with the first call. */
const ADAPTERS: Record<ModelProtocol, (options: AdapterOptions) => Promise<ProviderAdapter>> = {
  openai: async (options) => (await import('./providers/openai-compatible.js')).createOpenAiCompatible(options),
  anthropic: async (options) => (await import('./providers/anthropic.js')).createAnthropicAdapter(options),
};

async function loadAdapter(provider: ProviderId, env: ModelVariables): Promise<ProviderAdapter> {
  if (provider === 'demo') {
    const { createDemoAdapter } = await import('./providers/demo.js');
    return createDemoAdapter({ delayMs: env.USWARM_DEMO_DELAY_MS });
  }
  const connection = PROVIDER_CONNECTIONS[provider];
  return ADAPTERS[connection.protocol]({
    slug: provider,
    baseUrl: behindGateway(env, provider) ?? env[connection.baseUrl] ?? connection.defaultBaseUrl,
    apiKey: env[connection.apiKey],
    names: namesOf(connection, env),
  });
}

const STEP_MS = 10 * 60_000;
/** As long as replies are buffered, so that it does not delay them. */
const JOIN_MS = 50;

/** `USWARM_DEFAULT_PROVIDER`, else the provider that the environment connects to. */
export function providerOf(env: ModelVariables): ProviderId {
  return env.USWARM_DEFAULT_PROVIDER ?? configuredProvider(env);
}

export function createProvider(
  provider: ProviderId,
  env: ModelVariables,
  { onLearned }: Pick<LearnedPartsDeps, 'onLearned'> = {},
): ModelPort {
  const port = lazyPort(provider, async () => {
    const [adapter, { createModelPort }] = await Promise.all([loadAdapter(provider, env), import('./model-port.js')]);
    const betweenBytesMs = env.USWARM_MODEL_TIMEOUT_MS;
    return createModelPort({
      adapter,
      limits: { firstByteMs: 2 * betweenBytesMs, betweenBytesMs, totalMs: STEP_MS },
      joinMs: JOIN_MS,
      onLearned,
      retries: { maxWaitMs: env.USWARM_MODEL_RETRY_MS },
    });
  });
  return env.MODEL_GATEWAY_URL === undefined ? withoutToken(port) : withoutAnnouncements(port);
}

/** A runtime with its own key must not send the gateway's token, which every turn has, to the provider. */
const withoutToken = (port: ModelPort): ModelPort => ({
  ...port,
  // The demo model sends no requests.
  announces: port.provider !== 'demo',
  step: (request, { token: _, ...options }) => port.step(request, options),
});

/** The gateway reserves the tokens of each call. */
const withoutAnnouncements = (port: ModelPort): ModelPort => ({
  ...port,
  step: (request, { announce: _, ...options }) => port.step(request, options),
});
