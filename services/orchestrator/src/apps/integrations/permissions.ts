import type { ProviderClient } from './provider-clients.js';

type Client = Pick<ProviderClient, 'scopes' | 'toolScopes' | 'includedScopes' | 'additionalParameters'>;

/** They identify the user or extend the grant. Providers rename them, or do not list them. */
const WITHOUT_PERMISSION = new Set(['openid', 'email', 'profile', 'offline_access', 'offline']);

/** Google writes some scopes with a trailing slash. */
const canonical = (scope: string): string => scope.replace(/\/+$/, '');

/** Slack has a separate parameter for user scopes. */
const requestedScopes = ({ scopes, additionalParameters }: Client): string[] => [
  ...scopes,
  ...(additionalParameters['user_scope'] ?? '').split(/[\s,]+/).filter((scope) => scope !== ''),
];

/**
 * Returns requested scopes that the provider has not granted, if the app's tools fail without them. On the provider's
 * page, users can clear the boxes for some scopes, and administrators can forbid some.
 *
 * @param granted from the provider's answer; undefined if it grants what was requested (RFC 6749 §5.1)
 */
export function missingPermissions(client: Client, granted: readonly string[] | undefined): string[] {
  if (granted === undefined) return [];
  const allOf = (scope: string): string[] => {
    const name = canonical(scope);
    return [name, ...(client.includedScopes?.[name] ?? [])];
  };
  const permitted = new Set(granted.flatMap(allOf));
  const requested = requestedScopes(client).filter((scope) => !WITHOUT_PERMISSION.has(scope));
  return requested.filter((scope) => {
    const { toolScopes = [canonical(scope)] } = client;
    const needed = allOf(scope).filter((name) => toolScopes.includes(name));
    return needed.some((name) => !permitted.has(name));
  });
}
