import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiError, type ErrorBody } from '@uswarm/contract';
import {
  type ClientAddress,
  deviceLogFields,
  type Logger,
  QueueFull,
  readDevice,
  retry,
  type ServiceCredential,
  type TaskQueue,
} from '@uswarm/service-kit';
import { isTransient, toErrorBody } from '../../error-body.js';
import { type GatewayMetrics, type HandshakeOutcome, outcomeOf } from '../../metrics/gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { type Credentials, readCredentials } from './credentials.js';
import { type Resumption, readResumeToken } from './resumption.js';
import { acceptedCredential, credentialHash, type SessionData } from './session-data.js';

/** The used part of a socket. */
export interface ConnectingSocket {
  request: IncomingMessage;
  handshake: { auth: unknown };
  conn: Record<'once' | 'off', (event: 'close', listener: () => void) => unknown>;
  data: Partial<SessionData>;
}

export interface HandshakeDeps {
  orchestrator: Pick<OrchestratorClient, 'authenticate'>;
  /** Admits a client with a resume token. */
  resume: Resumption;
  /** False if the orchestrator does not accept this gateway's service token. */
  credential: Pick<ServiceCredential, 'proven'>;
  clientAddress: ClientAddress;
  metrics: Pick<GatewayMetrics, 'handshakes' | 'handshakesWaiting'>;
  logger: Pick<Logger, 'error' | 'debug'>;
  /** Limits the number of concurrent authentication requests. */
  queue: TaskQueue;
  /** Milliseconds within which a handshake is retried after transient errors. */
  patienceMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** A refused handshake. */
export interface Refusal {
  /** The `connect_error` for a permanently refused client, with the documented error object as `data`. */
  error: Error;
  /** True if the same credentials may be accepted later. */
  transient: boolean;
}

const RETRY = { initialMs: 100, maxMs: 2_000 };

function retryAfter(error: unknown): number {
  const ms = error instanceof ApiError ? error.extra['retry_after_ms'] : undefined;
  return typeof ms === 'number' ? ms : 0;
}

/** @throws ApiError `service_unavailable` if too many handshakes wait */
const placeIn = (queue: TaskQueue, signal: AbortSignal): Promise<() => void> =>
  queue.take({ signal }).catch((error: unknown) => {
    throw error instanceof QueueFull ? new ApiError('service_unavailable') : error;
  });

/**
 * Admits a connecting client with its resume token, or authenticates it with the orchestrator. Retries for a limited time after a transient error. Never
 * throws.
 *
 * @returns the refusal; undefined if the client is accepted
 */
export function createHandshake(deps: HandshakeDeps) {
  const { orchestrator, resume, credential, clientAddress, metrics, logger, queue, patienceMs, now } = deps;

  /** @returns whether the resume token admits the client. @throws ApiError if it does not, and no credentials are present */
  async function resumed(auth: unknown, credentials: Credentials, data: Partial<SessionData>): Promise<boolean> {
    const token = readResumeToken(auth);
    if (token === undefined) return false;
    try {
      Object.assign(data, await resume(token, credentials));
      return true;
    } catch (error) {
      if (credentialHash(credentials) === undefined) throw error;
      logger.debug({ err: error }, 'resume token refused');
      return false;
    }
  }

  return async ({ request, handshake, conn, data }: ConnectingSocket): Promise<Refusal | undefined> => {
    const requestId = randomUUID();
    const disconnected = new AbortController();
    const abort = (): void => disconnected.abort();
    conn.once('close', abort);
    try {
      const credentials = readCredentials(request.headers, handshake.auth);
      const address = clientAddress(request);
      const authenticate = async () => {
        metrics.handshakesWaiting.inc();
        const release = await placeIn(queue, disconnected.signal).finally(() => metrics.handshakesWaiting.dec());
        try {
          const requestedAt = now();
          const identity = await orchestrator.authenticate(credentials, address, requestId);
          return { userId: identity.user_id, ...acceptedCredential(identity, credentials, requestedAt) };
        } finally {
          release();
        }
      };
      if (await resumed(handshake.auth, credentials, data)) {
        metrics.handshakes.inc({ outcome: 'resumed' });
        logger.debug({ requestId }, 'connection resumed');
        return undefined;
      }
      const session = await retry(authenticate, {
        ...RETRY,
        // Jitter, because clients that connected together must not be refused together.
        deadlineMs: patienceMs * (0.75 + 0.25 * Math.random()),
        signal: disconnected.signal,
        retryable: isTransient,
        waitAtLeastMs: retryAfter,
      });
      const device = readDevice(credentials);
      Object.assign(data, session, { sessionId: randomUUID(), deviceId: device.id, resumed: false, workspaceIds: [] });
      metrics.handshakes.inc({ outcome: 'ok' });
      logger.debug({ requestId, ...deviceLogFields(device) }, 'connection accepted');
      return undefined;
    } catch (error) {
      if (disconnected.signal.aborted) {
        metrics.handshakes.inc({ outcome: 'left' });
        return { error: new Error('the client disconnected'), transient: true };
      }
      // A gateway with a wrong key or clock cannot judge credentials: it must not refuse a user for good.
      if (!isTransient(error) && !(await credential.proven())) {
        metrics.handshakes.inc({ outcome: 'failed' });
        logger.debug({ requestId, err: error }, 'connection closed: the service token of this gateway is not accepted');
        return { error: new Error('the credentials cannot be verified now'), transient: true };
      }
      metrics.handshakes.inc({ outcome: failureOf(error) });
      const body = toErrorBody(error, requestId, logger);
      logger.debug({ requestId, code: body.code }, 'connection refused');
      return { error: connectError(body), transient: isTransient(error) };
    } finally {
      conn.off('close', abort);
    }
  };
}

function failureOf(error: unknown): HandshakeOutcome {
  return error instanceof ApiError && error.code === 'rate_limited' ? error.code : outcomeOf(error);
}

/** Wraps an error object so that socket.io sends it to a refused client. */
export function connectError(body: ErrorBody): Error {
  return Object.assign(new Error(body.message), { data: body });
}
