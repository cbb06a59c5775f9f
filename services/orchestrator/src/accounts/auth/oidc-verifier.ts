import { ApiError } from '@uswarm/contract';
import type { JWTHeaderParameters, JWTPayload } from 'jose';
import type { Identity } from './actor.js';
import { IdTokenClaims, IdTokenHeader } from './id-token-claims.js';
import { createIssuerTokens, type IssuerAccess, requireClient, type TokenIssuer } from './issuer-tokens.js';

/** @throws ApiError `token_invalid`, `token_expired`, `service_unavailable` */
export interface IdentityVerifier {
  verify(token: string): Promise<Identity>;
}

export interface OidcVerifierOptions extends IssuerAccess {
  issuers: readonly TokenIssuer[];
}

export function createOidcVerifier(options: OidcVerifierOptions): IdentityVerifier {
  return createIssuerTokens({
    ...options,
    read: (issuer, header, payload) => toIdentity(issuer, readIdToken(issuer, header, payload)),
  });
}

/**
 * Rejects tokens for other clients, and other JWTs from the same issuer.
 *
 * @throws ApiError `token_invalid`
 */
function readIdToken(issuer: TokenIssuer, header: JWTHeaderParameters, payload: JWTPayload): IdTokenClaims {
  const { success, data: claims, error } = IdTokenClaims.safeParse(payload);
  if (!success || !IdTokenHeader.safeParse(header).success) throw new ApiError('token_invalid', { cause: error });
  requireClient(issuer, claims);
  return claims;
}

function toIdentity(issuer: TokenIssuer, claims: IdTokenClaims): Identity {
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
