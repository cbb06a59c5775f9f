/** Who a credential speaks for, as the identity provider says. */
export interface Identity {
  /** The configured id of the issuer; `e2e` on the end-to-end bypass. */
  issuer: string;
  subject: string;
  email: string;
  name: string;
  /** When the credential expires; null where it does not. */
  expiresAt: Date | null;
}

/** The caller of the four account routes: a valid identity, signed up or not. */
export interface IdentityActor {
  identity: Identity;
}

/** The caller of every other route: a user of ours. */
export interface UserActor {
  userId: string;
  identity: Identity;
}
