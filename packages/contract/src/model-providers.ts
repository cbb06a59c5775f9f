/** Model providers in the runtime image. Without schemas: a runtime loads this file, and memory counts there. */

export interface ModelProviderMetadata {
  label: string;
  /** Variables for a provider that needs an account or a server. Runtimes use it if its key or base URL is set. */
  connection?: { baseUrl: string; apiKey: string; model: string; defaultHost: string };
  /** Further variables that configure it. */
  options: readonly string[];
}

const PROVIDERS = {
  demo: { label: 'demo', options: ['USWARM_DEMO_DELAY_MS'] },
  openai: {
    label: 'OpenAI-compatible',
    connection: {
      baseUrl: 'OPENAI_BASE_URL',
      apiKey: 'OPENAI_API_KEY',
      model: 'OPENAI_MODEL',
      defaultHost: 'api.openai.com',
    },
    options: ['OPENAI_MODEL_FLASH', 'OPENAI_MODEL_SONNET', 'OPENAI_MODEL_OPUS'],
  },
  anthropic: {
    label: 'Anthropic',
    connection: {
      baseUrl: 'ANTHROPIC_BASE_URL',
      apiKey: 'ANTHROPIC_API_KEY',
      model: 'ANTHROPIC_MODEL',
      defaultHost: 'api.anthropic.com',
    },
    options: ['ANTHROPIC_MODEL_FLASH', 'ANTHROPIC_MODEL_SONNET', 'ANTHROPIC_MODEL_OPUS'],
  },
} as const satisfies Record<string, ModelProviderMetadata>;

export type ModelProvider = keyof typeof PROVIDERS;

/** Slugs, as in `config.defaultProvider` of a UserSwarm. */
export const MODEL_PROVIDERS = Object.keys(PROVIDERS) as ModelProvider[];

export const MODEL_PROVIDER_METADATA: Record<ModelProvider, ModelProviderMetadata> = PROVIDERS;

/** Variables that connect runtimes to a provider. */
export const CONNECTION_VARIABLES: readonly string[] = Object.values(MODEL_PROVIDER_METADATA).flatMap(
  ({ connection }) => (connection === undefined ? [] : [connection.baseUrl, connection.apiKey, connection.model]),
);

/** All variables that configure providers. */
export const PROVIDER_VARIABLES: readonly string[] = [
  ...CONNECTION_VARIABLES,
  ...Object.values(MODEL_PROVIDER_METADATA).flatMap(({ options }) => options),
];

/** A value of `ANTHROPIC_BASE_URL` as the clients of Anthropic read it: `/v1` at its end is optional. */
export function anthropicBaseUrl(url: string): string {
  const bare = url.replace(/\/+$/, '');
  return bare.endsWith('/v1') ? bare : `${bare}/v1`;
}

/** The first provider whose key or base URL is set; demo if there is none. */
export function configuredProvider(environment: Readonly<Record<string, unknown>>): ModelProvider {
  const isConfigured = (provider: ModelProvider): boolean => {
    const { connection } = MODEL_PROVIDER_METADATA[provider];
    return connection !== undefined && Boolean(environment[connection.apiKey] || environment[connection.baseUrl]);
  };
  return MODEL_PROVIDERS.find(isConfigured) ?? 'demo';
}
