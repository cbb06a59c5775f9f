import type { TokenAccess } from '@uswarm/contract';
import type { Device } from '@uswarm/service-kit';

/** Proved by a credential, as stated by the identity provider. */
export interface Identity {
  /** The issuer's configured id; `e2e` for the end-to-end bypass. */
  issuer: string;
  subject: string;
  email: string;
  name: string;
  /** Name parts and the picture's https URL, if the provider sends them. */
  givenName?: string;
  familyName?: string;
  picture?: string;
  /** Null if the credential does not expire. */
  expiresAt: Date | null;
  /** In whole seconds; null if the token has no `iat`. */
  issuedAt: Date | null;
  /** Time of the sign-in at the identity provider (`auth_time`); null if the token does not contain it. */
  authenticatedAt: Date | null;
}

/** Request data besides the identity. */
export interface Session {
  /** Identifies the token (`tokenHash`); null on the bypass, whose credential is shared and cannot be revoked. */
  tokenHash: Buffer | null;
  device: Device;
  /** The client address as logged; null if unknown. */
  source: string | null;
}

/** Calls the four account routes: a valid identity, with or without an account. */
export interface IdentityActor {
  identity: Identity;
  session: Session;
}

/** Calls all other routes: a registered user. */
export interface UserActor extends IdentityActor {
  userId: string;
  /** The API token's limits; null for an ID token, which permits everything. */
  access: TokenAccess | null;
}
