import { IntegrationProvider, type OAuthConfiguration } from '@uswarm/contract';
import { isSecureUrl } from '@uswarm/service-kit';
import { z } from 'zod';
import { type OwnProvider, type ProviderDefinition, PROVIDERS } from './providers.js';

const OwnProvider = z.enum(Object.keys(PROVIDERS) as OwnProvider[]);

/** Receives tokens and secrets, so plain HTTP is allowed on the local machine only. */
const Endpoint = z.url().refine(isSecureUrl, 'needs https');

/** The operator's settings for one provider: the registered client and overrides. */
const ProviderSettings = z.strictObject({
  client_id: z.string().min(1),
  /** Absent for a public client, which authenticates with the code verifier only. */
  client_secret: z.string().min(1).optional(),
  /** Registered at the provider. Apps receive the first one. */
  redirect_urls: z.array(z.url()).min(1),
  scopes: z.array(z.string()).optional(),
  additional_parameters: z.record(z.string(), z.string()).optional(),
  pkce: z.boolean().default(true),
  /** Expected `iss` of a callback, if the app sends one. */
  issuer: z.url().optional(),
  authorization_endpoint: Endpoint.optional(),
  token_endpoint: Endpoint.optional(),
  /** Without a trailing slash. */
  api_url: Endpoint.optional(),
  /** Null disables revocation at the provider. */
  revocation_endpoint: Endpoint.nullable().optional(),
});

/** The error for an app whose settings belong elsewhere. */
export const asToolServer = (provider: string): string =>
  `${provider} is a tool server: remove it here, and add it to toolServers.servers of the chart or to TOOL_SERVERS_FILE (docs/connections.md)`;

/** True for API providers that have no client here. */
export const isToolServer = (name: string): boolean =>
  IntegrationProvider.safeParse(name).success && !OwnProvider.safeParse(name).success;

/** Providers without settings cannot be connected. */
export const IntegrationProviders = z
  .record(z.string(), z.unknown())
  .superRefine((providers, context) => {
    for (const name of Object.keys(providers).filter(isToolServer))
      context.addIssue({ code: 'custom', message: asToolServer(name) });
  })
  .pipe(z.partialRecord(OwnProvider, ProviderSettings))
  .superRefine((providers, context) => {
    for (const [name, settings] of Object.entries(providers)) {
      for (const message of unsafe(settings)) {
        context.addIssue({ code: 'custom', path: [name], message });
      }
    }
    for (const { provider, other } of sharedRedirects(providers)) {
      const message = `shares one of its redirect_urls with ${other}: a code must come back to the provider that issued it`;
      context.addIssue({ code: 'custom', path: [provider], message });
    }
  });
export type IntegrationProviders = z.output<typeof IntegrationProviders>;

/** Without PKCE, a stolen code can be redeemed (RFC 9700 §2.1). */
function unsafe(settings: z.output<typeof ProviderSettings>): string[] {
  if (settings.pkce) return [];
  const problems = [];
  if (settings.client_secret === undefined) problems.push('needs a client_secret, because it takes no code challenge');
  if (!settings.redirect_urls.every((url) => url.startsWith('https:')))
    problems.push('needs https in redirect_urls, because it takes no code challenge: any app can claim another scheme');
  return problems;
}

/** Finds providers that share a redirect URL: their codes could be mixed up (RFC 9700 §4.4). */
function sharedRedirects(
  providers: Partial<Record<string, z.output<typeof ProviderSettings>>>,
): { provider: string; other: string }[] {
  const owners = new Map<string, string>();
  const shared = new Map<string, string>();
  for (const [provider, settings] of Object.entries(providers)) {
    for (const url of settings?.redirect_urls ?? []) {
      const { href } = new URL(url);
      const other = owners.get(href) ?? provider;
      owners.set(href, other);
      if (other !== provider) shared.set(provider, other);
    }
  }
  return [...shared].map(([provider, other]) => ({ provider, other }));
}

export interface ProviderClient extends ProviderDefinition {
  /** An integration, or a tool server's connection. */
  provider: string;
  /** True for PKCE with S256. */
  pkce: boolean;
  /** Sent with each token request (RFC 8707). */
  resource?: string;
  /** Callbacks without `iss` are refused: the server has announced it (RFC 9207). */
  requiresIssuer?: boolean;
  clientId: string;
  clientSecret: string | undefined;
  redirectUrls: readonly [string, ...string[]];
  /** A server that a user has added names the endpoints, so they must be on the internet. */
  isUserServer?: boolean;
}

/** Clients for the configured integrations. */
export function createProviderClients(settings: IntegrationProviders): ReadonlyMap<string, ProviderClient> {
  const clients = OwnProvider.options.flatMap((provider) => {
    const own = settings[provider];
    return own === undefined ? [] : [[provider, clientOf(provider, own)] as const];
  });
  return new Map(clients);
}

function clientOf(provider: OwnProvider, own: z.output<typeof ProviderSettings>): ProviderClient {
  const { revocationEndpoint: standard, ...definition } = PROVIDERS[provider];
  const { revocation_endpoint: revocationEndpoint = standard ?? null } = own;
  return {
    ...definition,
    ...(own.issuer === undefined ? {} : { issuer: own.issuer }),
    ...(own.api_url === undefined ? {} : { apiUrl: own.api_url }),
    provider,
    clientId: own.client_id,
    clientSecret: own.client_secret,
    redirectUrls: own.redirect_urls as [string, ...string[]],
    authorizationEndpoint: own.authorization_endpoint ?? definition.authorizationEndpoint,
    tokenEndpoint: own.token_endpoint ?? definition.tokenEndpoint,
    scopes: own.scopes ?? definition.scopes,
    additionalParameters: own.additional_parameters ?? definition.additionalParameters,
    pkce: own.pkce,
    ...(revocationEndpoint === null ? {} : { revocationEndpoint }),
  };
}

/** Finds clients by integration, or by connection to a tool server. */
export interface ProviderClients {
  find(provider: string): Promise<ProviderClient | undefined>;
}

/** An app builds the authorization URL with these parameters. RES-079 */
export function oauthConfiguration(client: ProviderClient, state: string): OAuthConfiguration {
  return {
    client_id: client.clientId,
    redirect_url: client.redirectUrls[0],
    authorization_endpoint: client.authorizationEndpoint,
    token_endpoint: client.tokenEndpoint,
    scopes: [...client.scopes],
    // The app has no other source for whether the provider requires PKCE.
    additional_parameters: {
      ...client.additionalParameters,
      ...(client.resource === undefined ? {} : { resource: client.resource }),
      ...(client.pkce ? { code_challenge_method: 'S256' } : {}),
      state,
    },
  };
}
