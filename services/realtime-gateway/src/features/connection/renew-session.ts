import { ApiError, isSameAccess, safeParseRequest, SessionRenew, validationError } from '@uswarm/contract';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Emit } from '../../server-events.js';
import type { Credentials } from './credentials.js';
import type { ClientEventHandler } from './dispatch.js';
import { acceptedCredential, type SessionData } from './session-data.js';
import type { SessionLifetime } from './session-lifetime.js';
import type { SessionRegistry } from './session-registry.js';

export interface RenewSessionDeps {
  data: SessionData;
  /** Client address, for limits per address. */
  address: string;
  orchestrator: Pick<OrchestratorClient, 'authenticate'>;
  sessionRegistry: Pick<SessionRegistry, 'hasEnded'>;
  lifetime: Pick<SessionLifetime, 'start'>;
  emit: Emit;
  /** Monotonic milliseconds. */
  now: () => number;
}

/**
 * `session.renew`: replaces a socket's credential by another one for the same user. The replaced one may then be
 * revoked without an effect on the socket. After an error the present one remains valid.
 */
export function createRenewSession(deps: RenewSessionDeps): ClientEventHandler {
  const { data, address, orchestrator, sessionRegistry, lifetime, emit, now } = deps;
  return {
    async handle({ payload, requestId, acknowledge }) {
      const parsed = safeParseRequest(SessionRenew, payload);
      if (!parsed.success) throw validationError(parsed.error);
      const credentials: Credentials = Object.fromEntries(
        Object.entries(parsed.data.credentials).filter(([, value]) => value !== undefined && value !== ''),
      );
      const requestedAt = now();
      const identity = await orchestrator.authenticate(credentials, address, requestId);
      if (identity.user_id !== data.userId) throw new ApiError('session_user_mismatch');
      // Subscriptions stay, so a token must not keep more than it permits.
      if (!isSameAccess(identity.access ?? null, data.access)) throw new ApiError('token_not_permitted');
      const credential = acceptedCredential(identity, credentials, requestedAt);
      if (sessionRegistry.hasEnded({ userId: data.userId, ...credential })) throw new ApiError('token_revoked');
      Object.assign(data, credential);
      lifetime.start();
      acknowledge({ expires_in_ms: credential.expiresAt === null ? null : Math.round(credential.expiresAt - now()) });
    },
    refused({ message, code, extra }) {
      emit('session.renew.error', {
        error: message,
        code,
        retryable: new ApiError(code).retryable,
        request_id: extra?.request_id ?? '',
        ...(extra?.retry_after_ms !== undefined && { retry_after_ms: extra.retry_after_ms }),
      });
    },
  };
}
