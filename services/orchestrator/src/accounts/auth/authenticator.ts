import { ApiError, type RouteAuth } from '@uswarm/contract';
import { type Device, readDevice, type SecurityLog, tokenHash } from '@uswarm/service-kit';
import { isApiToken } from './api-token-text.js';
import type { ApiTokens } from './api-tokens.js';
import { type Identity, type IdentityActor, type Session, type UserActor } from './actor.js';
import { bearerToken, type Credentials } from '../../platform/http/credentials.js';
import type { IdentityHash } from './identity-hash.js';
import type { IdentityVerifier } from './oidc-verifier.js';
import { type KnownUser, lookUpCaller } from './sessions.store.js';
import type { SignatureCheck } from './signature.js';
import type { Database } from '../../platform/database/database.js';

export interface AuthenticatorDeps {
  verifier: IdentityVerifier;
  signature: SignatureCheck;
  database: Database;
  users: {
    wasDeleted(identity: Identity): Promise<boolean>;
    /** Creates the account if it does not exist; used by the end-to-end bypass only. */
    ensure(identity: Identity): Promise<unknown>;
  };
  apiTokens: ApiTokens;
  devices: { seen(userId: string, device: Device): void };
  /** Present if the end-to-end bypass is enabled in this process. */
  bypass?: { identify(credentials: Credentials): { identity: Identity; token: string } | undefined };
  identityHash: IdentityHash;
  security: Pick<SecurityLog, 'refused'>;
}

export interface Caller {
  via: 'rest' | 'socket';
  /** The client address as logged. */
  source: string | null;
}

export interface Authenticator {
  authenticate(credentials: Credentials, auth: 'user', caller: Caller): Promise<UserActor>;
  authenticate(credentials: Credentials, auth: 'identity', caller: Caller): Promise<IdentityActor>;
  authenticate(
    credentials: Credentials,
    auth: Exclude<RouteAuth, 'public'>,
    caller: Caller,
  ): Promise<UserActor | IdentityActor>;
}

interface Proof {
  identity: Identity;
  /** The credential that authenticated the request; the signature covers it. */
  token: string;
}

/** AUTH-001 to AUTH-004, AUTH-006 */
export function createAuthenticator(deps: AuthenticatorDeps): Authenticator {
  const { verifier, signature, database, users, apiTokens, devices, bypass, security } = deps;

  async function prove(credentials: Credentials, auth: Exclude<RouteAuth, 'public'>): Promise<Proof> {
    const bypassed = bypass?.identify(credentials);
    if (bypassed !== undefined) return bypassed;
    const bearer = bearerToken(credentials.authorization);
    const token = credentials['x-token'] ?? (auth === 'user' ? bearer : undefined);
    if (token === undefined) throw new ApiError(bearer === undefined ? 'token_missing' : 'token_header_required');
    return { identity: await verifier.verify(token), token };
  }

  async function requireUser(user: KnownUser | undefined, identity: Identity): Promise<string> {
    if (user === undefined) {
      throw new ApiError((await users.wasDeleted(identity)) ? 'user_deleted' : 'sign_up_required');
    }
    if (user.isBanned) throw new ApiError('user_banned');
    return user.id;
  }

  /** Without a signature, which only the app can make, and without a device, which programs have none of. */
  async function admitProgram(
    token: string,
    credentials: Credentials,
    auth: Exclude<RouteAuth, 'public'>,
    { source }: Caller,
  ): Promise<UserActor> {
    if (auth === 'identity') throw new ApiError('token_not_permitted');
    const found = await apiTokens.verify(token);
    apiTokens.used(found, source);
    const { issuer, subject, email, user_name: name, expires_at: expiresAt } = found;
    return {
      userId: found.user_id,
      identity: { issuer, subject, email, name, expiresAt, issuedAt: null, authenticatedAt: null },
      session: { tokenHash: found.hash, device: readDevice(credentials), source },
      access: { scopes: found.scopes, workspace_ids: found.workspace_ids },
    };
  }

  async function authenticate(
    credentials: Credentials,
    auth: Exclude<RouteAuth, 'public'>,
    caller: Caller,
  ): Promise<UserActor | IdentityActor> {
    let proof: Proof | undefined;
    try {
      const program = apiTokenIn(credentials);
      if (program !== undefined) return await admitProgram(program, credentials, auth, caller);
      proof = await prove(credentials, auth);
      return await admit(proof, credentials, auth, caller);
    } catch (error) {
      if (error instanceof ApiError && isRefusal(error)) {
        security.refused({
          what: 'credential',
          outcome: error.code,
          via: caller.via,
          identity: proof === undefined ? undefined : deps.identityHash(proof.identity).toString('hex'),
          source: caller.source ?? undefined,
        });
      }
      throw error;
    }
  }

  async function admit(
    { identity, token }: Proof,
    credentials: Credentials,
    auth: Exclude<RouteAuth, 'public'>,
    { source }: Caller,
  ): Promise<UserActor | IdentityActor> {
    signature.check({ token, signature: credentials['x-signature'], timestamp: credentials['x-timestamp'] });
    const bypassed = identity.issuer === 'e2e';
    if (bypassed) await users.ensure(identity);
    const session: Session = {
      tokenHash: bypassed ? null : tokenHash(token),
      device: readDevice(credentials),
      source,
    };
    const { user, revoked } = await lookUpCaller(database, identity, session.tokenHash);
    if (revoked) throw new ApiError('token_revoked');
    const actor =
      auth === 'user'
        ? { userId: await requireUser(user, identity), identity, session, access: null }
        : { identity, session };
    if (user?.isBanned === false) devices.seen(user.id, session.device);
    return actor;
  }

  return { authenticate: authenticate as Authenticator['authenticate'] };
}

/** The end-to-end bypass precedes all tokens. */
function apiTokenIn(credentials: Credentials): string | undefined {
  if (credentials['x-e2e-token'] !== undefined) return undefined;
  const token = credentials['x-token'] ?? bearerToken(credentials.authorization);
  return token !== undefined && isApiToken(token) ? token : undefined;
}

/** Missing credentials and users without an account do not count as refusals. */
function isRefusal({ code, status }: ApiError): boolean {
  return (status === 401 && code !== 'token_missing') || code === 'user_banned' || code === 'user_deleted';
}
