import * as oauth from 'oauth4webapi';
import type { Client, components } from '@uswarm/client';

/** An app that the API knows, or a tool server. */
export type Target = { provider: components['schemas']['IntegrationProvider'] } | { server: string };

/** Undefined for a tool, which needs no account. */
export function targetOf({ type, provider, server }: components['schemas']['IntegrationItem']): Target | undefined {
  if (type === 'tool') return undefined;
  return provider === null ? (server === undefined ? undefined : { server }) : { provider };
}

export type Configuration = components['schemas']['OAuthConfiguration'];
interface Pending {
  target: Target;
  verifier: string;
  state: string;
  redirectUrl: string;
  returnTo: string;
}
const PENDING = 'uswarm.connecting';

/** True if the provider returns to this page. Otherwise only the mobile app can finish the connection. */
export const returnsHere = ({ redirect_url: url }: Configuration, origin = location.origin): boolean =>
  URL.canParse(url) && new URL(url).origin === origin;

/** Leaves for the provider. The service made the `state`, and checks it. */
export async function leaveFor(target: Target, configuration: Configuration, returnTo: string): Promise<void> {
  const { client_id, redirect_url: redirectUrl, authorization_endpoint, scopes, additional_parameters } = configuration;
  const more = additional_parameters as Record<string, string>;
  const pending: Pending = {
    target,
    verifier: oauth.generateRandomCodeVerifier(),
    state: more['state'] ?? '',
    redirectUrl,
    returnTo,
  };
  const query = {
    response_type: 'code',
    client_id,
    redirect_uri: redirectUrl,
    ...(scopes.length > 0 && { scope: scopes.join(' ') }),
    ...more,
    ...('code_challenge_method' in more && {
      code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    }),
  };
  const url = new URL(authorization_endpoint);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  location.assign(url);
}

export interface Returned {
  pending: Pending;
  code: string | null;
  /** The provider's own words. */
  refusal: string | null;
  issuer: string | null;
}
/** @returns the provider's answer; undefined if it does not belong to the connection that this browser began */
export function returned(search = location.search): Returned | undefined {
  const stored = sessionStorage.getItem(PENDING);
  const query = new URLSearchParams(search);
  if (stored === null || (!query.has('code') && !query.has('error'))) return undefined;
  sessionStorage.removeItem(PENDING);
  const pending = JSON.parse(stored) as Pending;
  if (pending.state !== '' && query.get('state') !== pending.state) return undefined;
  const refusal = query.get('error_description') ?? query.get('error');
  return { pending, code: query.get('code'), refusal, issuer: query.get('iss') };
}

export async function finish({ api }: Client, { pending, code, refusal, issuer }: Returned): Promise<void> {
  if (code === null) throw new Error(refusal ?? 'The provider returned no code.');
  const { target } = pending;
  const body = {
    authorization_code: code,
    code_verifier: pending.verifier,
    redirect_url: pending.redirectUrl,
    ...(pending.state !== '' && { state: pending.state }),
    ...(issuer !== null && { iss: issuer }),
  };
  if ('server' in target) await api.post('/v1/tool-servers/{server}/callback', { path: target, body });
  else await api.post('/v1/integrations/callback', { body: { ...target, ...body } });
}
