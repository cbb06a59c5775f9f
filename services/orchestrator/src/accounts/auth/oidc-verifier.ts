import { ApiError } from '@uswarm/contract';
import { isCanonicalToken, isSecureUrl } from '@uswarm/service-kit';
import { decodeJwt, errors, type JWTHeaderParameters, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import { z } from 'zod';
import type { Identity } from './actor.js';
import { IdTokenClaims, IdTokenHeader } from './id-token-claims.js';
import { createKeySet } from './key-set.js';
import { createLimitedFetch, type LimitedFetch } from './limited-fetch.js';
import { createVerifiedTokens } from './verified-tokens.js';

/** @throws ApiError `token_invalid`, `token_expired`, `service_unavailable` */
export interface IdentityVerifier {
  verify(token: string): Promise<Identity>;
}

export interface OidcIssuer {
  id: string;
  issuer: string;
  audience: string | string[];
  /** Accepted `azp` values besides the audience: further clients of the same app. */
  authorizedParties?: readonly string[];
  jwksUri?: string;
  /** Default: all of `TOKEN_ALGORITHMS`. */
  algorithms?: readonly TokenAlgorithm[];
}

export interface OidcVerifierOptions {
  issuers: readonly OidcIssuer[];
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

/** Asymmetric only: with a shared-secret algorithm, the public configuration could be used as a signing key. */
export const TOKEN_ALGORITHMS = [
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
export type TokenAlgorithm = (typeof TOKEN_ALGORITHMS)[number];

/** An issuer's clock may be ahead by this much. */
const MAX_CLOCK_DIFFERENCE_S = 300;

const DISCOVERY_RETRY_MS = 1_000;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

export function createOidcVerifier(options: OidcVerifierOptions): IdentityVerifier {
  const { issuers, outgoing, cooldownMs, clockToleranceS, onFetch = () => undefined, allowHttp = false } = options;
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
  const verified = createVerifiedTokens<Identity>({ clockToleranceS });
  return {
    async verify(token) {
      const before = await verified.find(token);
      if (before !== undefined) return before;
      if (!isCanonicalToken(token)) throw new ApiError('token_invalid');
      const issuer = known.find(({ issuer: url }) => url === claimedIssuer(token));
      if (issuer === undefined) throw new ApiError('token_invalid');
      try {
        const { payload, protectedHeader, key } = await jwtVerify(token, issuer.keys, {
          issuer: issuer.issuer,
          audience: issuer.audience,
          algorithms: [...(issuer.algorithms ?? TOKEN_ALGORITHMS)],
          clockTolerance: clockToleranceS,
          requiredClaims: ['exp', 'sub'],
        });
        const identity = toIdentity(issuer, readIdToken(issuer, protectedHeader, payload));
        verified.add(token, { value: identity, payload, header: protectedHeader, key, keys: issuer.keys });
        return identity;
      } catch (error) {
        throw verificationError(error);
      }
    },
  };
}

/**
 * Rejects tokens for other clients, and other JWTs from the same issuer.
 *
 * @throws ApiError `token_invalid`
 */
function readIdToken(issuer: OidcIssuer, header: JWTHeaderParameters, payload: JWTPayload): IdTokenClaims {
  const { success, data: claims, error } = IdTokenClaims.safeParse(payload);
  if (!success || !IdTokenHeader.safeParse(header).success) throw new ApiError('token_invalid', { cause: error });
  // A logout everywhere revokes older tokens: a token from the future would stay valid.
  if ((claims.iat ?? 0) > Date.now() / 1_000 + MAX_CLOCK_DIFFERENCE_S) throw new ApiError('token_invalid');
  // `azp` names the client that the token was issued to. With several audiences it is required.
  const { azp = null, aud } = claims;
  const clients = [issuer.audience, issuer.authorizedParties ?? []].flat();
  const needsParty = azp !== null || (Array.isArray(aud) && aud.length > 1);
  if (needsParty && (azp === null || !clients.includes(azp))) throw new ApiError('token_invalid');
  return claims;
}

function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

interface KeysOptions {
  issuer: OidcIssuer;
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

function toIdentity(issuer: OidcIssuer, claims: IdTokenClaims): Identity {
  return {
    issuer: issuer.id,
    subject: claims.sub,
    email: claims.email,
    name: claims.name,
    ...optional('givenName', claims.given_name),
    ...optional('familyName', claims.family_name),
    ...optional('picture', claims.picture),
    expiresAt: new Date(claims.exp * 1_000),
    issuedAt: timeOf(claims.iat),
    authenticatedAt: timeOf(claims.auth_time),
  };
}

const timeOf = (seconds: number | null | undefined): Date | null =>
  typeof seconds === 'number' ? new Date(seconds * 1_000) : null;

function optional<Key extends string>(key: Key, value: string): { [Name in Key]?: string } {
  return value === '' ? {} : ({ [key]: value } as { [Name in Key]?: string });
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
