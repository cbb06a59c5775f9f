import * as oauth from 'oauth4webapi';
import type { Configuration } from './configuration.js';

/** Kept only in memory: after a reload, the issuer's session signs the user in again without a question. */
export interface Tokens {
  idToken: string;
  refreshToken: string | undefined;
  /** The user's id at the issuer. */
  subject: string;
  name: string;
  email: string;
}
/** State that survives the way to the issuer and back; it ends with the tab. */
interface Pending {
  verifier: string;
  state: string;
  nonce: string;
  returnTo: string;
  /** True if the sign-in screen named the legal documents. */
  accepts: boolean;
}
/** A user in local mode, signed in by the development issuer without a question. */
export interface LocalUser {
  name: string;
  email: string;
}

const [PENDING, SIGNED_IN, SIGNED_OUT] = ['uswarm.sign-in', 'uswarm.signed-in', 'uswarm.signed-out'];
const redirectUri = (): string => `${location.origin}/signed-in`;
const insecure = ({ issuer }: Configuration) => ({ [oauth.allowInsecureRequests]: issuer.startsWith('http:') });

async function discover(configuration: Configuration): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(configuration.issuer);
  const response = await oauth.discoveryRequest(issuer, insecure(configuration));
  return oauth.processDiscoveryResponse(issuer, response);
}

/** This tab's user before the reload. */
export const lastUser = (): LocalUser | undefined =>
  JSON.parse(sessionStorage.getItem(SIGNED_IN) ?? 'null') as LocalUser | undefined;

/**
 * Leaves for the issuer.
 * @param options.user in local mode
 * @param options.again asks who signs in even if the issuer remembers the last user
 * @param options.accepts the user has seen which documents are accepted with the sign-in
 */
export async function beginSignIn(
  configuration: Configuration,
  options: { returnTo: string; user?: LocalUser | undefined; again?: boolean; accepts?: boolean },
): Promise<void> {
  const server = await discover(configuration);
  const pending: Pending = {
    verifier: oauth.generateRandomCodeVerifier(),
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    returnTo: options.returnTo,
    accepts: options.accepts ?? false,
  };
  sessionStorage.setItem(PENDING, JSON.stringify(pending));
  const url = new URL(server.authorization_endpoint ?? '');
  const query = {
    client_id: configuration.client_id,
    redirect_uri: redirectUri(),
    response_type: 'code',
    scope: configuration.scopes,
    code_challenge: await oauth.calculatePKCECodeChallenge(pending.verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
    ...(options.user && { login_hint: options.user.email, login_name: options.user.name }),
    // The issuer may still remember the last user.
    ...((options.again || sessionStorage.getItem(SIGNED_OUT)) && { prompt: 'login' }),
  };
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  // Going back must not begin another sign-in.
  location.replace(url);
}

/** Reads the issuer's answer at `/signed-in`. @throws if the issuer refused, or answers another sign-in */
export async function finishSignIn(
  configuration: Configuration,
): Promise<{ tokens: Tokens } & Pick<Pending, 'returnTo' | 'accepts'>> {
  const stored = sessionStorage.getItem(PENDING);
  sessionStorage.removeItem(PENDING);
  if (stored === null) throw new Error('This sign-in was begun in another tab, or has ended.');
  const pending = JSON.parse(stored) as Pending;
  const [server, client] = [await discover(configuration), { client_id: configuration.client_id }];
  const answer = oauth.validateAuthResponse(server, client, new URL(location.href), pending.state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    client,
    oauth.None(),
    answer,
    redirectUri(),
    pending.verifier,
    insecure(configuration),
  );
  const result = await oauth.processAuthorizationCodeResponse(server, client, response, {
    expectedNonce: pending.nonce,
    requireIdToken: true,
  });
  return { tokens: toTokens(result), returnTo: pending.returnTo, accepts: pending.accepts };
}

/** @throws if the issuer gave no refresh token, or ended the session */
export async function refreshTokens(configuration: Configuration, tokens: Tokens): Promise<Tokens> {
  if (tokens.refreshToken === undefined) throw new Error('The session has expired.');
  const [server, client] = [await discover(configuration), { client_id: configuration.client_id }];
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    tokens.refreshToken,
    insecure(configuration),
  );
  const result = await oauth.processRefreshTokenResponse(server, client, response);
  return toTokens({ refresh_token: tokens.refreshToken, id_token: tokens.idToken, ...result });
}

function toTokens(result: oauth.TokenEndpointResponse): Tokens {
  const claims = JSON.parse(decodePart(result.id_token?.split('.')[1] ?? '')) as Record<string, string | undefined>;
  const email = claims['email'] ?? '';
  const name = claims['name'] ?? email;
  sessionStorage.removeItem(SIGNED_OUT);
  sessionStorage.setItem(SIGNED_IN, JSON.stringify({ name, email } satisfies LocalUser));
  return {
    idToken: result.id_token ?? '',
    refreshToken: result.refresh_token,
    subject: claims['sub'] ?? '',
    name,
    email,
  };
}

function decodePart(part: string): string {
  const bytes = atob(part.replaceAll('-', '+').replaceAll('_', '/'));
  return new TextDecoder().decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0)));
}

export function forgetSignIn(): void {
  sessionStorage.removeItem(SIGNED_IN);
  sessionStorage.setItem(SIGNED_OUT, 'yes');
}

/** Derives the e-mail address, which identifies the user, from the name. */
export function localUser(name: string): LocalUser {
  const slug = name
    .trim()
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '');
  return { name: name.trim(), email: `${slug || 'user'}@example.com` };
}
