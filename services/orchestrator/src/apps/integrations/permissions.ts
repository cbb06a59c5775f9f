import type { ProviderClient } from './provider-clients.js';

type Client = Pick<ProviderClient, 'scopes' | 'toolScopes' | 'includedScopes'>;

/** Google writes some scopes with a trailing slash. */
const canonical = (scope: string): string => scope.replace(/\/+$/, '');

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
  return client.scopes.filter((scope) =>
    allOf(scope).some((name) => client.toolScopes.includes(name) && !permitted.has(name)),
  );
}
