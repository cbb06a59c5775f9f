/** Model providers in the runtime image. Without schemas: a runtime loads this file, and memory counts there. */

import type { CatalogueId } from './catalogue-ids.js';

export { CATALOGUE_IDS, type CatalogueId } from './catalogue-ids.js';

/** Model server protocols: chat completions, and messages. */
export type ModelProtocol = 'openai' | 'anthropic';

/**
 * Providers with an account or a server, by slug. Upper-case slugs begin their variables. The first one that the
 * environment connects to is the default.
 */
const CONNECTED = {
  openai: { label: 'OpenAI-compatible', protocol: 'openai', defaultBaseUrl: 'https://api.openai.com/v1' },
  anthropic: { label: 'Anthropic', protocol: 'anthropic', defaultBaseUrl: 'https://api.anthropic.com' },
} as const satisfies Record<string, { label: string; protocol: ModelProtocol; defaultBaseUrl: string }>;

export type ConnectedProvider = keyof typeof CONNECTED;
export const CONNECTED_PROVIDERS = Object.keys(CONNECTED) as ConnectedProvider[];

type Prefix = Uppercase<ConnectedProvider>;

/** A provider's variable names and defaults. */
export interface ProviderConnection {
  protocol: ModelProtocol;
  defaultBaseUrl: string;
  baseUrl: `${Prefix}_BASE_URL`;
  apiKey: `${Prefix}_API_KEY`;
  /** The provider's name for all other catalogue ids. */
  model: `${Prefix}_MODEL`;
  models: Readonly<Record<CatalogueId, `${Prefix}_MODEL_${Uppercase<CatalogueId>}`>>;
  /** Further names that runtimes may request. Only the model gateway reads it. */
  allowedModels: `${Prefix}_ALLOWED_MODELS`;
}

function connectionOf(slug: ConnectedProvider): ProviderConnection {
  const { protocol, defaultBaseUrl } = CONNECTED[slug];
  const prefix = slug.toUpperCase() as Prefix;
  return {
    protocol,
    defaultBaseUrl,
    baseUrl: `${prefix}_BASE_URL`,
    apiKey: `${prefix}_API_KEY`,
    model: `${prefix}_MODEL`,
    models: { flash: `${prefix}_MODEL_FLASH`, sonnet: `${prefix}_MODEL_SONNET`, opus: `${prefix}_MODEL_OPUS` },
    allowedModels: `${prefix}_ALLOWED_MODELS`,
  };
}

export const PROVIDER_CONNECTIONS = Object.fromEntries(
  CONNECTED_PROVIDERS.map((slug) => [slug, connectionOf(slug)]),
) as Readonly<Record<ConnectedProvider, ProviderConnection>>;

export interface ModelProviderMetadata {
  label: string;
  /** Undefined for the demo model. Runtimes use a provider if its key or base URL is set. */
  connection?: ProviderConnection;
  /** Further variables that configure it. */
  options: readonly string[];
}

export type ModelProvider = 'demo' | ConnectedProvider;

export const MODEL_PROVIDER_METADATA = Object.fromEntries<ModelProviderMetadata>([
  ['demo', { label: 'demo', options: ['USWARM_DEMO_DELAY_MS'] }],
  ...CONNECTED_PROVIDERS.map((slug): [string, ModelProviderMetadata] => {
    const connection = PROVIDER_CONNECTIONS[slug];
    return [slug, { label: CONNECTED[slug].label, connection, options: Object.values(connection.models) }];
  }),
]) as Readonly<Record<ModelProvider, ModelProviderMetadata>>;

/** Slugs, as in `config.defaultProvider` of a UserSwarm. */
export const MODEL_PROVIDERS = Object.keys(MODEL_PROVIDER_METADATA) as ModelProvider[];

/** Variables that connect runtimes to a provider. */
export const CONNECTION_VARIABLES: readonly string[] = Object.values(PROVIDER_CONNECTIONS).flatMap(
  ({ baseUrl, apiKey, model }) => [baseUrl, apiKey, model],
);

/** All variables that configure providers. */
export const PROVIDER_VARIABLES: readonly string[] = [
  ...CONNECTION_VARIABLES,
  ...Object.values(MODEL_PROVIDER_METADATA).flatMap(({ options }) => options),
];

/** A messages server's base URL as its clients read it: `/v1` is optional. */
export function anthropicBaseUrl(url: string): string {
  const bare = url.replace(/\/+$/, '');
  return bare.endsWith('/v1') ? bare : `${bare}/v1`;
}

/** The first provider whose key or base URL is set; demo if there is none. */
export function configuredProvider(environment: Readonly<Record<string, unknown>>): ModelProvider {
  const isConfigured = (slug: ConnectedProvider): boolean => {
    const { apiKey, baseUrl } = PROVIDER_CONNECTIONS[slug];
    return Boolean(environment[apiKey] || environment[baseUrl]);
  };
  return CONNECTED_PROVIDERS.find(isConfigured) ?? 'demo';
}
