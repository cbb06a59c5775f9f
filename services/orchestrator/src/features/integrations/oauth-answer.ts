import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import type { Tokens } from './token-cipher.js';

/** Tokens and the lifetime of the access token in seconds; undefined if the provider does not send it. */
export interface Grant extends Tokens {
  expiresInS: number | undefined;
}

/**
 * Why a provider returned no tokens. `gone`: the code or refresh token is no longer valid. `refused`: the provider
 * rejects the registered client. `unavailable`: a retry may succeed.
 */
export type OAuthFailureKind = 'gone' | 'refused' | 'unavailable';

/** Contains only the error code of the provider's response, never its body. */
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
}

/** The response of a token or revocation endpoint. */
export interface ProviderAnswer {
  status: number;
  body: string;
}

const text = z.string().min(1);
const TokenAnswer = z.object({
  access_token: text.optional(),
  refresh_token: text.optional(),
  expires_in: z.coerce.number().positive().max(1e10).optional().catch(undefined),
});
/** Slack nests the user's token in `authed_user`. */
const SlackAnswer = z.object({ authed_user: TokenAnswer.optional() });
/** Slack and GitHub return errors with status 200. */
const ErrorAnswer = z.object({ error: z.string().regex(/^[\w.-]{1,64}$/), ok: z.literal(false).optional() });

const REVOKED_GRANT_CODES = new Set([
  'invalid_grant',
  'bad_verification_code', // GitHub
  'invalid_code', // Slack
  'code_already_used', // Slack
  'code_expired', // Slack
  'invalid_refresh_token', // Slack
  'token_revoked', // Slack
  'token_expired', // Slack
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

/**
 * Parses a token response. `extraRevokedCodes` lists the provider-specific error codes for `gone`.
 *
 * @throws OAuthFailure if the response contains no tokens
 */
export function readGrant(answer: ProviderAnswer, extraRevokedCodes: readonly string[] = []): Grant {
  const body = parseJson(answer.body);
  const error = errorOf(answer, body, extraRevokedCodes);
  if (error !== undefined) throw error;
  const top = TokenAnswer.safeParse(body).data;
  const found = top?.access_token === undefined ? SlackAnswer.safeParse(body).data?.authed_user : top;
  if (found?.access_token === undefined) throw new OAuthFailure('refused', 'no token');
  return {
    accessToken: found.access_token,
    ...(found.refresh_token === undefined ? {} : { refreshToken: found.refresh_token }),
    expiresInS: found.expires_in,
  };
}

const INVALID_TOKEN_CODES = ['invalid_token', 'invalid_auth', 'account_inactive', 'not_authed'];

/** @throws OAuthFailure unless the response shows that the token is no longer valid */
export function readRevocation(answer: ProviderAnswer, alreadyRevokedStatuses: readonly number[] = []): void {
  if (alreadyRevokedStatuses.includes(answer.status)) return;
  const error = errorOf(answer, parseJson(answer.body), INVALID_TOKEN_CODES);
  if (error !== undefined && error.kind !== 'gone') throw error;
}

function errorOf(
  { status }: ProviderAnswer,
  body: unknown,
  extraRevokedCodes: readonly string[],
): OAuthFailure | undefined {
  const code = ErrorAnswer.safeParse(body).data?.error;
  if (status < 300 && code === undefined) return undefined;
  const reason = code ?? `status ${status}`;
  if (status >= 500 || status === 429 || (code !== undefined && PASSING.has(code))) {
    return new OAuthFailure('unavailable', reason);
  }
  return new OAuthFailure(
    code !== undefined && (REVOKED_GRANT_CODES.has(code) || extraRevokedCodes.includes(code)) ? 'gone' : 'refused',
    reason,
  );
}
