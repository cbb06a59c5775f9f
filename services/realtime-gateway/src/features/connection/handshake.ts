import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ErrorBody } from '@uswarm/contract';
import { type ClientAddress, deviceLogFields, type Logger, readDevice } from '@uswarm/service-kit';
import { toErrorBody } from '../../error-body.js';
import { type GatewayMetrics, outcomeOf } from '../../gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { readCredentials } from './credentials.js';

/** What the gateway knows of a connected client. */
export interface SessionData {
  userId: string;
  /** When the credential expires; null where it does not. */
  expiresAt: Date | null;
  /** By which the credential is known when it is logged out; null where it cannot be. */
  tokenHash: string | null;
  /** When the orchestrator was asked about it, in milliseconds that only grow. */
  askedAt: number;
}

/** The part of a socket that a handshake looks at. */
export interface ConnectingSocket {
  request: IncomingMessage;
  handshake: { auth: unknown };
  data: Partial<SessionData>;
}

export interface HandshakeDeps {
  orchestrator: Pick<OrchestratorClient, 'authenticate'>;
  clientAddress: ClientAddress;
  metrics: Pick<GatewayMetrics, 'handshakes'>;
  logger: Pick<Logger, 'error' | 'debug'>;
  /** Milliseconds that only grow. */
  now: () => number;
}

/**
 * Asks the orchestrator who a connecting client is.
 *
 * @returns what the client gets as `connect_error`, with the documented error object as `data`; nothing when
 * the client is let in. Never throws. spec: orchestrator §5, §6, §7
 */
export function createHandshake({ orchestrator, clientAddress, metrics, logger, now }: HandshakeDeps) {
  return async ({ request, handshake, data }: ConnectingSocket): Promise<Error | undefined> => {
    const requestId = randomUUID();
    try {
      const credentials = readCredentials(request.headers, handshake.auth);
      data.askedAt = now();
      const answer = await orchestrator.authenticate(credentials, clientAddress(request), requestId);
      data.userId = answer.user_id;
      data.expiresAt = answer.expires_at === null ? null : new Date(answer.expires_at);
      data.tokenHash = answer.token_hash;
      metrics.handshakes.inc({ outcome: 'ok' });
      logger.debug({ requestId, ...deviceLogFields(readDevice(credentials)) }, 'let a socket in');
      return undefined;
    } catch (error) {
      metrics.handshakes.inc({ outcome: outcomeOf(error) });
      const body = toErrorBody(error, requestId, logger);
      logger.debug({ requestId, code: body.code }, 'refused a socket');
      return connectError(body);
    }
  };
}

/** How socket.io carries an error object to a client that is not let in. */
export function connectError(body: ErrorBody): Error {
  return Object.assign(new Error(body.message), { data: body });
}
