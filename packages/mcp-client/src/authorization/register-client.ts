import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { AuthorizationFailure, quoted } from './authorization-failure.js';
import type { AuthorizationServer } from './discover-authorization.js';
import { type Answer, ask, isPassing, oddAsAbsent, type RequestOptions } from './limited-request.js';

/** In the order of preference: a public client has no secret that could leak or expire. */
const METHODS = ['none', 'client_secret_basic', 'client_secret_post'] as const;
export type TokenAuthMethod = (typeof METHODS)[number];

export interface RegisteredClient {
  clientId: string;
  /** Undefined for a public client. */
  clientSecret?: string;
  tokenAuthMethod: TokenAuthMethod;
  /** Undefined if the secret does not expire. */
  secretExpiresAt?: Date;
}

export interface Registration extends RequestOptions {
  /** Shown to users when they give their consent. */
  clientName: string;
  redirectUrls: readonly string[];
}

const RegistrationAnswer = z.object({
  client_id: z.string().min(1),
  client_secret: oddAsAbsent(z.string().min(1)),
  /** In seconds; 0 means never. */
  client_secret_expires_at: oddAsAbsent(z.number().positive().max(8.64e12)),
  token_endpoint_auth_method: oddAsAbsent(z.string().min(1)),
});

const RegistrationError = z.object({
  error: z.string(),
  error_description: oddAsAbsent(z.string()),
});

/**
 * Registers a client at an authorization server (RFC 7591).
 *
 * @throws AuthorizationFailure, of the kind `refused` if an operator must register the client; the reason of `signal`
 */
export async function registerClient(
  server: Pick<AuthorizationServer, 'registrationEndpoint' | 'tokenAuthMethods'>,
  { clientName, redirectUrls, ...options }: Registration,
): Promise<RegisteredClient> {
  const { registrationEndpoint, tokenAuthMethods } = server;
  if (registrationEndpoint === undefined) throw refused('registers no clients');
  const method = METHODS.find((known) => tokenAuthMethods.includes(known));
  if (method === undefined) {
    const message = `the authorization server wants clients to authenticate with ${quoted(tokenAuthMethods.join(', '))}, which is not supported`;
    throw new AuthorizationFailure('unsupported', message);
  }
  const headers = { accept: 'application/json', 'content-type': 'application/json' };
  const body = JSON.stringify({
    client_name: clientName,
    redirect_uris: redirectUrls,
    application_type: redirectUrls.every(isWebUrl) ? 'web' : 'native',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
  });
  const answer = await ask({ url: new URL(registrationEndpoint), init: { method: 'POST', headers, body } }, options);
  return readClient(answer, method);
}

/** OpenID Connect Registration §2: the others belong to an installed app. */
const isWebUrl = (url: string): boolean => /^https:\/\/(?!localhost[:/])/i.test(url);

function readClient({ status, body }: Answer, requested: TokenAuthMethod): RegisteredClient {
  if (isPassing(status)) {
    const message = `the authorization server answered a registration with status ${status}`;
    throw new AuthorizationFailure('unreachable', message);
  }
  const document = parseJson(body);
  if (status < 200 || status >= 300) throw refused(`refused to register a client (${reasonOf(document, status)})`);
  // A proxy, a sign-in page or a page for unknown addresses.
  if (document === undefined) throw refused('answered a registration without JSON');
  const { data: registered } = RegistrationAnswer.safeParse(document);
  if (registered === undefined) throw refused('answered a registration without a client id');
  return clientOf(registered, requested);
}

function clientOf(registered: z.output<typeof RegistrationAnswer>, requested: TokenAuthMethod): RegisteredClient {
  const { client_id: clientId, client_secret: secret, client_secret_expires_at: expiresAtS } = registered;
  // The server decides. RFC 7591 §2: client_secret_basic, if it does not say.
  const unstated = requested === 'none' ? 'client_secret_basic' : requested;
  const stated = registered.token_endpoint_auth_method ?? (secret === undefined ? 'none' : unstated);
  const tokenAuthMethod = METHODS.find((known) => known === stated);
  if (tokenAuthMethod === undefined) {
    const message = `the authorization server registered a client that authenticates with ${quoted(stated)}, which is not supported`;
    throw new AuthorizationFailure('unsupported', message);
  }
  if (tokenAuthMethod === 'none') return { clientId, tokenAuthMethod };
  if (secret === undefined) {
    const message = 'the authorization server registered a client with a secret, but did not return the secret';
    throw new AuthorizationFailure('invalid', message);
  }
  const expires = expiresAtS === undefined ? {} : { secretExpiresAt: new Date(expiresAtS * 1_000) };
  return { clientId, clientSecret: secret, tokenAuthMethod, ...expires };
}

function reasonOf(document: unknown, status: number): string {
  const { data } = RegistrationError.safeParse(document);
  if (data === undefined) return `status ${status}`;
  const { error, error_description: description } = data;
  return quoted(description === undefined ? error : `${error}: ${description}`);
}

const refused = (what: string): AuthorizationFailure => {
  const remedy = 'register a client there yourself, and configure its client id';
  return new AuthorizationFailure('refused', `the authorization server ${what}: ${remedy}`);
};
