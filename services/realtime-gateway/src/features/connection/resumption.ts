import { ApiError } from '@uswarm/contract';
import { readDevice } from '@uswarm/service-kit';
import type { Credentials } from './credentials.js';
import { CLOCK_TOLERANCE_MS, type ResumeTokens } from './resume-token.js';
import { credentialHash, type SessionData } from './session-data.js';
import type { SessionCheck } from './session-check.js';
import type { SessionRegistry } from './session-registry.js';

export interface ResumptionDeps {
  tokens: Pick<ResumeTokens, 'verify'>;
  sessionRegistry: Pick<SessionRegistry, 'hasEnded'>;
  sessionCheck: Pick<SessionCheck, 'confirm'>;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** The token is the `auth` entry `resume_token` in the handshake. */
export function readResumeToken(auth: unknown): string | undefined {
  const token =
    typeof auth === 'object' && auth !== null ? (auth as Record<string, unknown>)['resume_token'] : undefined;
  return typeof token === 'string' && token !== '' ? token : undefined;
}

/**
 * Admits a reconnect with a resume token. The orchestrator is asked whether the session has ended, many sessions per call; if it
 * does not respond in time, the token suffices, and the session check asks again.
 *
 * @throws ApiError `resume_token_invalid`, `resume_token_expired` or `token_revoked`
 */
export function createResumption({ tokens, sessionRegistry, sessionCheck, now }: ResumptionDeps) {
  return async (token: string, credentials: Credentials): Promise<Omit<SessionData, 'connectedAt'>> => {
    const { confirmedMsAgo, expiresInMs, ...claims } = tokens.verify(token);
    const presented = credentialHash(credentials);
    if (presented !== undefined && presented !== claims.credentialHash) throw new ApiError('resume_token_invalid');
    const session: Omit<SessionData, 'connectedAt'> = {
      ...claims,
      deviceId: readDevice(credentials).id,
      resumed: true,
      expiresAt: expiresInMs === null ? null : now() + expiresInMs,
      // A revocation before this time must not be missed because clocks differ.
      confirmedAt: now() - confirmedMsAgo - CLOCK_TOLERANCE_MS,
    };
    if (sessionRegistry.hasEnded(session)) throw new ApiError('token_revoked');
    const requestedAt = now();
    const state = await sessionCheck.confirm(session);
    if (state === 'ended') throw new ApiError('token_revoked');
    if (state === 'open') session.confirmedAt = requestedAt;
    return session;
  };
}

export type Resumption = ReturnType<typeof createResumption>;
