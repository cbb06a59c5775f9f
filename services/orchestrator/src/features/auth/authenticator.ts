import { ApiError, type RouteAuth } from '@uswarm/contract';
import type { Identity, IdentityActor, UserActor } from './actor.js';
import { bearerToken, type Credentials } from './credentials.js';
import type { IdentityVerifier } from './oidc-verifier.js';
import type { SignatureCheck } from './signature.js';

/** The user behind an identity, as far as letting it in is concerned. */
export interface KnownUser {
  id: string;
  isBanned: boolean;
}

export interface AuthenticatorDeps {
  verifier: IdentityVerifier;
  signature: SignatureCheck;
  users: {
    find(identity: Identity): Promise<KnownUser | undefined>;
    wasDeleted(identity: Identity): Promise<boolean>;
    /** Signs the identity up if need be; used by the end-to-end bypass alone. */
    ensure(identity: Identity): Promise<unknown>;
  };
  /** The end-to-end bypass, where this process has it. */
  bypass?: { identify(credentials: Credentials): { identity: Identity; token: string } | undefined };
}

export interface Authenticator {
  authenticate(credentials: Credentials, auth: 'user'): Promise<UserActor>;
  authenticate(credentials: Credentials, auth: 'identity'): Promise<IdentityActor>;
  authenticate(credentials: Credentials, auth: Exclude<RouteAuth, 'public'>): Promise<UserActor | IdentityActor>;
}

interface Proof {
  identity: Identity;
  /** The credential that authenticated, which the signature covers. */
  token: string;
}

/** spec: orchestrator §5 */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const { verifier, signature, users, bypass } = deps;

  async function prove(credentials: Credentials, auth: Exclude<RouteAuth, 'public'>): Promise<Proof> {
    const bypassed = bypass?.identify(credentials);
    if (bypassed !== undefined) return bypassed;
    const bearer = bearerToken(credentials.authorization);
    const token = credentials['x-token'] ?? (auth === 'user' ? bearer : undefined);
    if (token === undefined) throw new ApiError(bearer === undefined ? 'token_missing' : 'token_header_required');
    return { identity: await verifier.verify(token), token };
  }

  async function toUser(identity: Identity): Promise<UserActor> {
    const user = await users.find(identity);
    if (user === undefined) {
      throw new ApiError((await users.wasDeleted(identity)) ? 'user_deleted' : 'sign_up_required');
    }
    if (user.isBanned) throw new ApiError('user_banned');
    return { userId: user.id, identity };
  }

  async function authenticate(
    credentials: Credentials,
    auth: Exclude<RouteAuth, 'public'>,
  ): Promise<UserActor | IdentityActor> {
    const { identity, token } = await prove(credentials, auth);
    signature.check({ token, signature: credentials['x-signature'], timestamp: credentials['x-timestamp'] });
    if (identity.issuer === 'e2e') await users.ensure(identity);
    return auth === 'identity' ? { identity } : toUser(identity);
  }

  return { authenticate: authenticate as Authenticator['authenticate'] };
}
