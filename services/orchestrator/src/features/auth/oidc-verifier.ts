import { ApiError } from '@uswarm/contract';
import { isCanonicalToken, storable } from '@uswarm/service-kit';
import { decodeJwt, errors, type JWTHeaderParameters, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { isSecureUrl } from '../../http/secure-url.js';
import type { Identity } from './actor.js';
import { createKeySet } from './key-set.js';
import { limitedFetch } from './limited-fetch.js';
import { createVerifiedTokens } from './verified-tokens.js';

/** Verifies an ID token. @throws ApiError `token_invalid`, `token_expired`, `service_unavailable` */
export interface IdentityVerifier {
  verify(token: string): Promise<Identity>;
}

export interface OidcIssuer {
  id: string;
  issuer: string;
  audience: string | string[];
  jwksUri?: string;
  /** Accepted signature algorithms. Default: all of `TOKEN_ALGORITHMS`. */
  algorithms?: readonly TokenAlgorithm[];
}

export interface OidcVerifierOptions {
  issuers: readonly OidcIssuer[];
  /** Milliseconds between two key fetches caused by an unknown key id. */
  cooldownMs: number;
  /** Allowed clock difference in seconds. */
  clockToleranceS: number;
  /** Called after each fetch of an issuer's keys with whether the issuer responded. */
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

const PICTURE_URL_CHARACTERS = 2_048;
/** Types of JWTs that issuers sign for other purposes with the same audience. */
const OTHER_TYPES: ReadonlySet<string> = new Set(['at+jwt', 'logout+jwt']);

const DISCOVERY_RETRY_MS = 1_000;

const Discovery = z.object({ issuer: z.string(), jwks_uri: z.url() });

export function createOidcVerifier(options: OidcVerifierOptions): IdentityVerifier {
  const { issuers, cooldownMs, clockToleranceS, onFetch = () => undefined, allowHttp = false } = options;
  const known = issuers.map((issuer) => {
    const keys = createKeys({ issuer, cooldownMs, allowHttp, onFetch: (answered) => onFetch(issuer.id, answered) });
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
        requireIdToken(issuer, protectedHeader, payload);
        const identity = toIdentity(issuer, payload);
        verified.add(token, { value: identity, payload, header: protectedHeader, key, keys: issuer.keys });
        return identity;
      } catch (error) {
        throw verificationError(error);
      }
    },
  };
}

/** Rejects other JWTs of the same issuer and audience. @throws ApiError `token_invalid` */
function requireIdToken({ audience }: OidcIssuer, { typ }: JWTHeaderParameters, payload: JWTPayload): void {
  const type = (typ ?? 'JWT').toLowerCase().replace(/^application\//, '');
  // `events` marks logout tokens and other security events, even if `typ` is missing.
  if (OTHER_TYPES.has(type) || (payload['events'] ?? undefined) !== undefined) throw new ApiError('token_invalid');
  if (!Array.isArray(payload.aud) || payload.aud.length < 2) return;
  // With several audiences, `azp` names the client, which must be an accepted one.
  const { azp } = payload;
  if (typeof azp !== 'string' || ![audience].flat().includes(azp)) throw new ApiError('token_invalid');
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
  cooldownMs: number;
  allowHttp: boolean;
  onFetch: (answered: boolean) => void;
}

/** The issuer's key set, found by discovery on first use. The next token retries a failed discovery. */
function createKeys({ issuer, cooldownMs, allowHttp, onFetch }: KeysOptions): JWTVerifyGetKey {
  let keys: Promise<JWTVerifyGetKey> | undefined;
  const discovered = async (): Promise<string> => {
    try {
      return await discover(issuer.issuer);
    } catch (error) {
      onFetch(false);
      throw error;
    }
  };
  const load = async (): Promise<JWTVerifyGetKey> => {
    const uri = issuer.jwksUri ?? (await discovered());
    if (!allowHttp && !isSecureUrl(uri))
      throw new Error(`the key set of ${issuer.issuer} is at ${uri}, which needs https`);
    return createKeySet(new URL(uri), { cooldownMs, onFetch });
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

async function discover(issuer: string): Promise<string> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await limitedFetch(url, { signal: AbortSignal.timeout(5_000) });
  if (!response.ok) throw new Error(`discovery of ${issuer} answered ${response.status}`);
  const document = Discovery.parse(await response.json());
  if (document.issuer !== issuer) throw new Error(`discovery of ${issuer} names another issuer`);
  return document.jwks_uri;
}

function toIdentity(issuer: OidcIssuer, payload: JWTPayload): Identity {
  const { sub, exp } = payload;
  if (sub === undefined || sub === '' || sub !== storable(sub) || exp === undefined)
    throw new ApiError('token_invalid');
  // Users choose their names at the identity provider, which may accept other characters than Postgres.
  const text = (claim: string): string => storable(typeof payload[claim] === 'string' ? payload[claim] : '');
  return {
    issuer: issuer.id,
    subject: sub,
    email: text('email'),
    name: text('name'),
    ...optional('givenName', text('given_name')),
    ...optional('familyName', text('family_name')),
    ...optional('picture', pictureOf(text('picture'))),
    expiresAt: new Date(exp * 1000),
    issuedAt: timeOf(payload.iat),
    authenticatedAt: timeOf(payload['auth_time']),
  };
}

/** Parses a NumericDate; null for anything else. */
function timeOf(claim: unknown): Date | null {
  const date = new Date(typeof claim === 'number' ? claim * 1000 : NaN);
  return Number.isNaN(date.getTime()) ? null : date;
}

function optional<Key extends string>(key: Key, value: string): { [Name in Key]?: string } {
  return value === '' ? {} : ({ [key]: value } as { [Name in Key]?: string });
}

/** Apps load this URL, so only https and the length limit of other stored URLs are accepted. */
function pictureOf(url: string): string {
  return url.length <= PICTURE_URL_CHARACTERS && URL.parse(url)?.protocol === 'https:' ? url : '';
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
