import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import type { Tokens } from './token-cipher.js';

/** Tokens, and the lifetime of the access token in seconds; undefined if the provider does not state it. */
export interface Grant extends Tokens {
  expiresInS: number | undefined;
}

/**
 * Why a provider gave no tokens: `gone`, the code or refresh token is worth nothing; `refused`, it takes
 * nothing from us as we are registered; `unavailable`, it may work later.
 */
export type OAuthFailureKind = 'gone' | 'refused' | 'unavailable';

/** Contains only the error code of the provider's response. */
export class OAuthFailure extends Error {
  override name = 'OAuthFailure';
  readonly kind: OAuthFailureKind;
  /** The provider's word, as `invalid_client`, or an HTTP status. */
  readonly reason: string;

  constructor(kind: OAuthFailureKind, reason: string, cause?: unknown) {
    super(`the provider answered ${reason}`, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.reason = reason;
  }
}

/** An answer of a token or revocation endpoint. */
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
/** Slack has the user's own token one level down. */
const SlackAnswer = z.object({ authed_user: TokenAnswer.optional() });
/** An error is a code, or something with a code. Slack and GitHub send it with status 200. */
const ErrorAnswer = z.object({ error: z.string().regex(/^[\w.-]{1,64}$/), ok: z.literal(false).optional() });

const GONE = new Set([
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

/** @throws OAuthFailure where the answer holds no tokens; `goneToo` are the provider's own words for `gone` */
export function readGrant(answer: ProviderAnswer, goneToo: readonly string[] = []): Grant {
  const body = parseJson(answer.body);
  const error = errorOf(answer, body, goneToo);
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

const WORTHLESS = ['invalid_token', 'invalid_auth', 'account_inactive', 'not_authed'];

/** @throws OAuthFailure where the token is not known to be worthless by now */
export function readRevocation(answer: ProviderAnswer, goneStatus: readonly number[] = []): void {
  if (goneStatus.includes(answer.status)) return;
  const error = errorOf(answer, parseJson(answer.body), WORTHLESS);
  if (error !== undefined && error.kind !== 'gone') throw error;
}

function errorOf({ status }: ProviderAnswer, body: unknown, goneToo: readonly string[]): OAuthFailure | undefined {
  const code = ErrorAnswer.safeParse(body).data?.error;
  if (status < 300 && code === undefined) return undefined;
  const reason = code ?? `status ${status}`;
  if (status >= 500 || status === 429 || (code !== undefined && PASSING.has(code))) {
    return new OAuthFailure('unavailable', reason);
  }
  return new OAuthFailure(
    code !== undefined && (GONE.has(code) || goneToo.includes(code)) ? 'gone' : 'refused',
    reason,
  );
}
