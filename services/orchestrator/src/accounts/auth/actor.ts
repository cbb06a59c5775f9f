import type { Device } from '@uswarm/service-kit';

/** The identity that a credential proves, as stated by the identity provider. */
export interface Identity {
  /** The configured id of the issuer; `e2e` for the end-to-end bypass. */
  issuer: string;
  subject: string;
  email: string;
  name: string;
  /** Name parts and the https URL of the picture, if the provider sends them. */
  givenName?: string;
  familyName?: string;
  picture?: string;
  /** When the credential expires; null if it does not. */
  expiresAt: Date | null;
  /** When the token was issued, in whole seconds; null if the token has no `iat`. */
  issuedAt: Date | null;
  /** When the user signed in at the identity provider (`auth_time`); null if the token does not contain it. */
  authenticatedAt: Date | null;
}

/** Request data besides the identity. */
export interface Session {
  /** The identity of the token (`tokenHash`); null on the bypass, whose credential is shared and cannot be revoked. */
  tokenHash: Buffer | null;
  /** The hash that release 0.2 uses (see `tokenTextHash`, also for its removal). */
  tokenTextHash: Buffer | null;
  device: Device;
  /** The client address as logged; null if unknown. */
  source: string | null;
}

/** The caller of the four account routes: a valid identity, with or without an account. */
export interface IdentityActor {
  identity: Identity;
  session: Session;
}

/** The caller of all other routes: a registered user. */
export interface UserActor extends IdentityActor {
  userId: string;
}

/** All hashes under which the session's token may be revoked. */
export function tokenHashes({ tokenHash, tokenTextHash }: Pick<Session, 'tokenHash' | 'tokenTextHash'>): Buffer[] {
  return [tokenHash, tokenTextHash].filter((hash) => hash !== null);
}
