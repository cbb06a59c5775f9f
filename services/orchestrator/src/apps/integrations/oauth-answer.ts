import { z } from 'zod';
import { isFromProxy, oddAsAbsent, readJson } from '../../platform/http/foreign-answer.js';
import type { Tokens } from './token-cipher.js';

/** Tokens, and what the provider reports about the access token. */
export interface Grant extends Tokens {
  /** The access token's lifetime in seconds; undefined if the provider does not send it. */
  expiresInS: number | undefined;
  /** Granted scopes. A provider may omit them if it grants everything requested (RFC 6749 §5.1). */
  scopes?: readonly string[];
}

/**
 * `gone`: the code or refresh token is no longer valid. `refused`: the provider rejects the request for another reason.
 * `unavailable`: a retry may succeed, also if a proxy has answered instead of the provider.
 */
export type OAuthFailureKind = 'gone' | 'refused' | 'unavailable';

/** Contains only the error code from the provider's response, never its body. */
export class OAuthFailure extends Error {
  override name = 'OAuthFailure';
  readonly kind: OAuthFailureKind;
  /** The provider's error code, such as `invalid_client`, or an HTTP status. */
  readonly reason: string;

  constructor(kind: OAuthFailureKind, reason: string, cause?: unknown) {
    super(`the provider answered ${reason}`, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.reason = reason;
  }

  get rejectsCredentials(): boolean {
    return this.kind === 'refused' && CREDENTIAL_CODES.has(this.reason);
  }

  /** Only the operator can change what the provider rejects: the registered client or its request. */
  get rejectsClient(): boolean {
    return this.rejectsCredentials || (this.kind === 'refused' && REQUEST_CODES.has(this.reason));
  }
}

/** Comes from a token or revocation endpoint. */
export interface ProviderAnswer {
  status: number;
  body: string;
}

const Text = z.string().trim().min(1);
const Seconds = z.union([z.number(), Text.transform(Number)]).pipe(z.number().min(1).max(1e10));
/**
 * Separated by spaces, by commas at Slack and GitHub, or a list. An empty value states nothing: GitHub sends it for
 * apps.
 */
const Scopes = z
  .union([z.string(), z.array(z.string())])
  .transform((value) =>
    [value]
      .flat()
      .flatMap((part) => part.split(/[\s,]+/))
      .filter((scope) => scope !== ''),
  )
  .pipe(z.array(z.string()).min(1));
/** Only the access token is needed. Providers send null, '' or other types for the other fields. */
const TokenAnswer = z.object({
  access_token: Text,
  refresh_token: oddAsAbsent(Text),
  expires_in: oddAsAbsent(Seconds),
  scope: oddAsAbsent(Scopes),
});
/** Slack nests the user's token in `authed_user`. */
const SlackAnswer = z.object({ authed_user: TokenAnswer });
/** Slack and GitHub return errors with status 200. */
const ErrorAnswer = z.object({ error: z.string().regex(/^[\w.-]{1,64}$/) });

const REVOKED_GRANT_CODES = new Set([
  'invalid_grant',
  'invalid_token',
  'bad_verification_code', // GitHub
  'bad_refresh_token', // GitHub
  'invalid_code', // Slack
  'code_already_used', // Slack
  'code_expired', // Slack
  'invalid_refresh_token', // Slack
  'token_revoked', // Slack
  'token_expired', // Slack
]);
const REQUEST_CODES = new Set(['unauthorized_client', 'unsupported_grant_type', 'invalid_request']);
const CREDENTIAL_CODES = new Set([
  'invalid_client',
  'invalid_client_id',
  'bad_client_id',
  'bad_client_secret', // Slack
  'incorrect_client_credentials', // GitHub
]);
const PASSING = new Set([
  'temporarily_unavailable',
  'server_error',
  'ratelimited',
  'service_unavailable',
  'internal_error',
  'fatal_error',
  'request_timeout',
]);

/** @throws OAuthFailure if the response contains no tokens */
export function readGrant(answer: ProviderAnswer): Grant {
  const body = readJson(answer.body) ?? readForm(answer.body);
  const found = TokenAnswer.safeParse(body).data ?? SlackAnswer.safeParse(body).data?.authed_user;
  if (answer.status < 300 && found !== undefined) {
    const { access_token: accessToken, refresh_token: refreshToken, expires_in: expiresInS, scope: scopes } = found;
    return {
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      expiresInS,
      ...(scopes === undefined ? {} : { scopes }),
    };
  }
  // Only errors may have no body. Anything else comes from a proxy.
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body);
  if (!isObject && (answer.status < 300 || answer.body.trim() !== ''))
    throw new OAuthFailure('unavailable', answer.status < 300 ? 'no JSON' : `status ${answer.status}`);
  throw errorOf(answer, body) ?? new OAuthFailure('refused', 'no token');
}

/** GitHub answers with a form if the request loses its `Accept` header on the way. */
const readForm = (body: string): unknown =>
  /^[\w.~%+-]+=[^\s<]*$/.test(body) ? Object.fromEntries(new URLSearchParams(body)) : undefined;

/** @throws OAuthFailure unless the response shows that the token is no longer valid */
export function readRevocation(answer: ProviderAnswer): void {
  const error = errorOf(answer, readJson(answer.body));
  if (error !== undefined && error.kind !== 'gone') throw error;
}

function errorOf({ status, body: text }: ProviderAnswer, body: unknown): OAuthFailure | undefined {
  const code = ErrorAnswer.safeParse(body).data?.error;
  const isPassing = status >= 500 || status === 408 || status === 429 || isFromProxy(status, text);
  if (status < 300 && code === undefined && !isPassing) return undefined;
  const reason = code ?? `status ${status}`;
  if (isPassing || (code !== undefined && PASSING.has(code))) return new OAuthFailure('unavailable', reason);
  return new OAuthFailure(code !== undefined && REVOKED_GRANT_CODES.has(code) ? 'gone' : 'refused', reason);
}
