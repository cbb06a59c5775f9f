import { createHash } from 'node:crypto';
import type { AuthenticateAnswer, TokenAccess } from '@uswarm/contract';
import { tokenHash } from '@uswarm/service-kit';
import type { Credentials } from './credentials.js';

/** A credential that was accepted for a session. */
export interface AcceptedCredential {
  /** Credential expiry in this process' monotonic milliseconds; null if it does not expire. */
  expiresAt: number | null;
  /** Identifies the credential for a resume token. */
  credentialHash: string;
  /** Identifies the credential when it is revoked; null if it cannot be revoked. */
  tokenHash: string | null;
  /** Issue time of the credential as ISO 8601; null if unknown. */
  issuedAt: string | null;
  /** The API token's limits; null for other credentials. */
  access: TokenAccess | null;
  /** The orchestrator's last confirmation of the credential: start of its request, in monotonic milliseconds. */
  confirmedAt: number;
}

/** Session data for a connected client. `session.renew` replaces the credential. */
export interface SessionData extends AcceptedCredential {
  userId: string;
  /** Identifies the app installation; empty if the client sent no id. */
  deviceId: string;
  /** The same after a connect with a resume token. */
  sessionId: string;
  /** True if a resume token admitted the socket. */
  resumed: boolean;
  /** Workspaces that the resume token names. */
  workspaceIds: readonly string[];
  /**
   * Connection time in milliseconds since the epoch, with a fraction: several sockets can be opened within a
   * millisecond.
   */
  connectedAt: number;
}

/** @param requestedAt start of the authentication request, in monotonic milliseconds */
export function acceptedCredential(
  { expires_at, expires_in_ms, token_hash, issued_at = null, access = null }: AuthenticateAnswer,
  credentials: Credentials,
  requestedAt: number,
): AcceptedCredential {
  // Orchestrators of release 0.2 send only the time of expiry, which the clock of this host is compared with.
  const remainingOf02 = expires_at === null ? null : Date.parse(expires_at) - Date.now();
  const expiresInMs = expires_in_ms === undefined ? remainingOf02 : expires_in_ms;
  return {
    expiresAt: expiresInMs === null ? null : requestedAt + expiresInMs,
    credentialHash: credentialHash(credentials) ?? '',
    tokenHash: token_hash,
    issuedAt: issued_at,
    access,
    confirmedAt: requestedAt,
  };
}

/** Identifies the user's credential among the headers; undefined if they contain none. */
export function credentialHash(credentials: Credentials): string | undefined {
  const token = credentials['x-token'] ?? credentials.authorization?.replace(/^Bearer +/i, '');
  const bypass = [credentials['x-e2e-token'], credentials['x-e2e-uid'], credentials['x-e2e-email']];
  if (token === undefined && bypass[0] === undefined) return undefined;
  // A signature's encoding can differ without a new token.
  const parts = [token === undefined ? null : tokenHash(token).toString('hex'), ...bypass.map((part) => part ?? null)];
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
