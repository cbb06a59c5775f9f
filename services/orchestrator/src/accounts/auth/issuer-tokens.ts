import { ApiError } from '@uswarm/contract';
import { isCanonicalToken, isSecureUrl } from '@uswarm/service-kit';
import { decodeJwt, errors, type JWTHeaderParameters, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import { createKeySet } from './key-set.js';
import { createLimitedFetch, type LimitedFetch } from './limited-fetch.js';
import { createVerifiedTokens } from './verified-tokens.js';

/** Asymmetric only: with a shared-secret algorithm, the public configuration could be used as a signing key. */
const TOKEN_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;
type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** Strict: without a misspelled restriction, more tokens would be accepted. */
export const IssuerSettings = z.strictObject({
  issuer: z.url(),
  audience: z.union([z.string(), z.array(z.string()).min(1)]),
  /** Accepted `azp` values besides the audience. */
  authorized_parties: z.array(z.string().min(1)).optional(),
  jwks_uri: z.url().optional(),
  /** Accepted signature algorithms. Default: all asymmetric ones. */
  algorithms: z.array(z.enum(TOKEN_ALGORITHMS)).min(1).optional(),
});
export type IssuerSettings = z.output<typeof IssuerSettings>;

export interface TokenIssuer {
  id: string;
  issuer: string;
  audience: string | string[];
  /** Accepted `azp` values besides the audience: further clients of the same app. */
  authorizedParties?: readonly string[];
  jwksUri?: string;
  /** Default: all of `TOKEN_ALGORITHMS`. */
  algorithms?: readonly TokenAlgorithm[];
}

export function tokenIssuer(id: string, settings: IssuerSettings): TokenIssuer {
  const { issuer, audience, authorized_parties, jwks_uri, algorithms } = settings;
  return {
    id,
    issuer,
    audience,
    ...(authorized_parties === undefined ? {} : { authorizedParties: authorized_parties }),
    ...(jwks_uri === undefined ? {} : { jwksUri: jwks_uri }),
    ...(algorithms === undefined ? {} : { algorithms }),
  };
}

/** How issuers are called. */
export interface IssuerAccess {
  outgoing: Pick<Outgoing, 'request'>;
  /** Milliseconds between two key fetches caused by an unknown key id. */
  cooldownMs: number;
  /** Allowed clock difference in seconds. */
  clockToleranceS: number;
  /** Called after each key fetch. `answered` is true if the issuer responded. */
  onFetch?: (issuerId: string, answered: boolean) => void;
  /** Allows a key set at a plain http URL on another machine: for test issuers only. */
  allowHttp?: boolean;
}

export interface IssuerTokensOptions<Issuer extends TokenIssuer, Value> extends IssuerAccess {
  issuers: readonly Issuer[];
  /**
   * Reads a token whose signature, issuer, audience and times are valid.
   *
   * @throws ApiError `token_invalid` for a token of another kind
   */
  read: (issuer: Issuer, header: JWTHeaderParameters, payload: JWTPayload) => Value;
}

/** Verifies tokens of OpenID Connect issuers. */
export interface IssuerTokens<Value> {
  /** True if the token claims to be from one of the issuers. */
  areFrom(token: string): boolean;
  /** @throws ApiError `token_invalid`, `token_expired`, `service_unavailable` */
  verify(token: string): Promise<Value>;
}

/** An issuer's clock may be ahead by this much. */
const MAX_CLOCK_DIFFERENCE_S = 300;

const DISCOVERY_RETRY_MS = 1_000;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

export function createIssuerTokens<Issuer extends TokenIssuer, Value>(
  options: IssuerTokensOptions<Issuer, Value>,
): IssuerTokens<Value> {
  const { issuers, read, outgoing, cooldownMs, clockToleranceS } = options;
  const { onFetch = () => undefined, allowHttp = false } = options;
  const fetch = createLimitedFetch(outgoing);
  const known = issuers.map((issuer) => {
    const keys = createKeys({
      issuer,
      fetch,
      cooldownMs,
      allowHttp,
      onFetch: (answered) => onFetch(issuer.id, answered),
    });
    return { ...issuer, keys };
  });
  const verified = createVerifiedTokens<Value>({ clockToleranceS });
  const issuerOf = (token: string) => known.find(({ issuer: url }) => url === claimedIssuer(token));
  return {
    areFrom: (token) => issuerOf(token) !== undefined,
    async verify(token) {
      const before = await verified.find(token);
      if (before !== undefined) return before;
      if (!isCanonicalToken(token)) throw new ApiError('token_invalid');
      const issuer = issuerOf(token);
      if (issuer === undefined) throw new ApiError('token_invalid');
      try {
        const { payload, protectedHeader, key } = await jwtVerify(token, issuer.keys, {
          issuer: issuer.issuer,
          audience: issuer.audience,
          algorithms: [...(issuer.algorithms ?? TOKEN_ALGORITHMS)],
          clockTolerance: clockToleranceS,
          requiredClaims: ['exp', 'sub'],
        });
        requireIssued(payload.iat);
        const value = read(issuer, protectedHeader, payload);
        verified.add(token, { value, payload, header: protectedHeader, key, keys: issuer.keys });
        return value;
      } catch (error) {
        throw verificationError(error);
      }
    },
  };
}

/** A logout everywhere revokes older tokens: a token from the future would stay valid. @throws ApiError */
function requireIssued(iat: unknown): void {
  if (typeof iat === 'number' && iat > Date.now() / 1_000 + MAX_CLOCK_DIFFERENCE_S) throw new ApiError('token_invalid');
}

/**
 * Rejects tokens for other clients. `azp` names the client that the token was issued to; with several audiences it is
 * required.
 *
 * @throws ApiError `token_invalid`
 */
export function requireClient(
  { audience, authorizedParties = [] }: Pick<TokenIssuer, 'audience' | 'authorizedParties'>,
  { azp = null, aud }: { azp?: string | null | undefined; aud: string | string[] },
): void {
  const clients = [audience, authorizedParties].flat();
  const needsParty = azp !== null || (Array.isArray(aud) && aud.length > 1);
  if (needsParty && (azp === null || !clients.includes(azp))) throw new ApiError('token_invalid');
}

function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

interface KeysOptions {
  issuer: TokenIssuer;
  fetch: LimitedFetch;
  cooldownMs: number;
  allowHttp: boolean;
  onFetch: (answered: boolean) => void;
}

/** Discovers the issuer's key set on first use. The next token retries a failed discovery. */
function createKeys({ issuer, fetch, cooldownMs, allowHttp, onFetch }: KeysOptions): JWTVerifyGetKey {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const discovered = async (): Promise<string> => {
    try {
      return await discover(issuer.issuer, fetch);
    } catch (error) {
      onFetch(false);
      throw error;
    }
  };
  const load = async (): Promise<JWTVerifyGetKey> => {
    const uri = issuer.jwksUri ?? (await discovered());
    if (!allowHttp && !isSecureUrl(uri))
      throw new Error(`the key set of ${issuer.issuer} is at ${uri}, which needs https`);
    return createKeySet(new URL(uri), { fetch, cooldownMs, onFetch });
  };
  return async (header, token) => {
    const loading = (keys ??= load());
    // Only a failed discovery is retried, after a cooldown: known keys stay valid while the issuer is unavailable, and
    // not every request calls the issuer.
    const known = await loading.catch((error: unknown) => {
      setTimeout(
        () => {
          if (keys === loading) keys = undefined;
        },
        Math.min(cooldownMs, DISCOVERY_RETRY_MS),
      ).unref();
      throw error;
    });
    return known(header, token);
  };
}

async function discover(issuer: string, fetch: LimitedFetch): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await fetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`discovery of ${issuer} answered ${response.status}`);
  const document = Discovery.parse(await response.json());
  if (document.issuer !== issuer) throw new Error(`discovery of ${issuer} names another issuer`);
  return document.jwks_uri;
}

function verificationError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof errors.JWTExpired) return new ApiError('token_expired', { cause: error });
  // The key set could not be fetched, so the token may be valid.
  const isWithoutKeys = error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid;
  if (isWithoutKeys || !(error instanceof errors.JOSEError)) {
    return new ApiError('service_unavailable', { cause: error });
  }
  if (error.code === 'ERR_JOSE_GENERIC') return new ApiError('service_unavailable', { cause: error });
  return new ApiError('token_invalid', { cause: error });
}
