import type { Device } from '@uswarm/service-kit';

/** The identity that a credential proves, as the identity provider states it. */
export interface Identity {
  /** The configured id of the issuer; `e2e` on the end-to-end bypass. */
  issuer: string;
  subject: string;
  email: string;
  name: string;
  /** Parts of the name and the picture's https URL, if the provider tells them. */
  givenName?: string;
  familyName?: string;
  picture?: string;
  /** When the credential expires; null if it does not. */
  expiresAt: Date | null;
  /** When the token was issued, in whole seconds; null if it does not say. */
  issuedAt: Date | null;
  /** When the person signed in at the identity provider (`auth_time`); null if the token does not say. */
  authenticatedAt: Date | null;
}

/** What a request came with besides the identity. */
export interface Session {
  /** The identity of the token (`tokenHash`); null on the bypass, whose credential is shared and cannot be logged out. */
  tokenHash: Buffer | null;
  /** How release 0.2 identifies it (see `tokenTextHash`, also for its removal). */
  tokenTextHash: Buffer | null;
  device: Device;
  /** The address that it came from, as logs name it; null where that is not known. */
  source: string | null;
}

/** The caller of the four account routes: a valid identity, signed up or not. */
export interface IdentityActor {
  identity: Identity;
  session: Session;
}

/** The caller of every other route: a registered user. */
export interface UserActor extends IdentityActor {
  userId: string;
}

/** Every hash that the token of a session may be revoked under. */
export function tokenHashes({ tokenHash, tokenTextHash }: Pick<Session, 'tokenHash' | 'tokenTextHash'>): Buffer[] {
  return [tokenHash, tokenTextHash].filter((hash) => hash !== null);
}
