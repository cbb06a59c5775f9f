import { IntegrationProvider, type OAuthConfiguration } from '@uswarm/contract';
import { z } from 'zod';
import { isSecureUrl } from '../../http/secure-url.js';
import { type ProviderDefinition, PROVIDERS } from './providers.js';

/** Tokens and secrets go there: never in the clear, except on this machine. */
const Endpoint = z.url().refine(isSecureUrl, 'needs https');

/** An operator's settings of one provider: the registered client, and overrides. */
const ProviderSettings = z.strictObject({
  client_id: z.string().min(1),
  /** Absent: a public client, which proves itself by the code verifier alone. */
  client_secret: z.string().min(1).optional(),
  /** Where the provider may send people back to, as registered there; the first is what apps are told. */
  redirect_urls: z.array(z.url()).min(1),
  scopes: z.array(z.string()).optional(),
  additional_parameters: z.record(z.string(), z.string()).optional(),
  pkce: z.boolean().optional(),
  /** What `iss` of a callback must be, if the app sends one. */
  issuer: z.url().optional(),
  authorization_endpoint: Endpoint.optional(),
  token_endpoint: Endpoint.optional(),
  /** Null: the provider is not told of tokens that are not used any more. */
  revocation_endpoint: Endpoint.nullable().optional(),
});

/** By provider; those that are not named cannot be connected. */
export const IntegrationProviders = z
  .partialRecord(IntegrationProvider, ProviderSettings)
  .superRefine((providers, context) => {
    for (const [name, settings] of Object.entries(providers)) {
      for (const message of unsafe(name as IntegrationProvider, settings)) {
        context.addIssue({ code: 'custom', path: [name], message });
      }
    }
    for (const { provider, other } of sharedRedirects(providers)) {
      const message = `shares one of its redirect_urls with ${other}: a code must come back to the provider that issued it`;
      context.addIssue({ code: 'custom', path: [provider], message });
    }
  });
export type IntegrationProviders = z.output<typeof IntegrationProviders>;

/** Without a code challenge, a stolen code can be redeemed. RFC 9700 §2.1 */
function unsafe(provider: IntegrationProvider, settings: z.output<typeof ProviderSettings>): string[] {
  if (settings.pkce ?? PROVIDERS[provider].pkce) return [];
  const problems = [];
  if (settings.client_secret === undefined) problems.push('needs a client_secret, because it takes no code challenge');
  if (!settings.redirect_urls.every((url) => url.startsWith('https:')))
    problems.push('needs https in redirect_urls, because it takes no code challenge: any app can claim another scheme');
  return problems;
}

/** Providers that come back to an address that an earlier one has: their codes could be mixed up. RFC 9700 §4.4 */
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

/** A provider as it is here. */
export interface ProviderClient extends ProviderDefinition {
  provider: IntegrationProvider;
  clientId: string;
  clientSecret: string | undefined;
  redirectUrls: readonly [string, ...string[]];
}

export type ProviderClients = ReadonlyMap<IntegrationProvider, ProviderClient>;

export function createProviderClients(settings: IntegrationProviders): ProviderClients {
  const clients = IntegrationProvider.options.flatMap((provider) => {
    const own = settings[provider];
    return own === undefined ? [] : [[provider, clientOf(provider, own)] as const];
  });
  return new Map(clients);
}

function clientOf(provider: IntegrationProvider, own: z.output<typeof ProviderSettings>): ProviderClient {
  const { revocation, ...definition } = PROVIDERS[provider];
  const { revocation_endpoint: endpoint = revocation?.endpoint ?? null } = own;
  const style = revocation ?? { style: 'standard', token: 'refresh', wholeGrant: false };
  return {
    ...definition,
    ...(own.issuer === undefined ? {} : { issuer: own.issuer }),
    provider,
    clientId: own.client_id,
    clientSecret: own.client_secret,
    redirectUrls: own.redirect_urls as [string, ...string[]],
    authorizationEndpoint: own.authorization_endpoint ?? definition.authorizationEndpoint,
    tokenEndpoint: own.token_endpoint ?? definition.tokenEndpoint,
    scopes: own.scopes ?? definition.scopes,
    additionalParameters: own.additional_parameters ?? definition.additionalParameters,
    pkce: own.pkce ?? definition.pkce,
    ...(endpoint === null ? {} : { revocation: { ...style, endpoint } }),
  };
}

/** What an app needs to send its user to the provider. spec: orchestrator §2.12 */
export function oauthConfiguration(client: ProviderClient, state: string): OAuthConfiguration {
  return {
    client_id: client.clientId,
    redirect_url: client.redirectUrls[0],
    authorization_endpoint: client.authorizationEndpoint,
    token_endpoint: client.tokenEndpoint,
    scopes: [...client.scopes],
    // Whether there is to be a code challenge, the app can only learn here.
    additional_parameters: {
      ...client.additionalParameters,
      ...(client.pkce ? { code_challenge_method: 'S256' } : {}),
      state,
    },
  };
}
