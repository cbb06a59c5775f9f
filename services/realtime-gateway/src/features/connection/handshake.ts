import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiError, type ErrorBody } from '@uswarm/contract';
import { type ClientAddress, deviceLogFields, type Logger, readDevice, retry } from '@uswarm/service-kit';
import { toErrorBody } from '../../error-body.js';
import { type GatewayMetrics, type HandshakeOutcome, outcomeOf } from '../../gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { readCredentials } from './credentials.js';
import type { Slots } from './slots.js';

/** Session data of a connected client. */
export interface SessionData {
  userId: string;
  /** Identifies the app installation; empty if the client sent no id. */
  deviceId: string;
  /** Expiry of the credential; null if it does not expire. */
  expiresAt: Date | null;
  /** Identifies the credential when it is revoked; null if it cannot be revoked. */
  tokenHash: string | null;
  /** Time of issue of the credential as ISO 8601; null if unknown. */
  issuedAt: string | null;
  /** Time of the authentication request to the orchestrator, in monotonic milliseconds. */
  requestedAt: number;
  /**
   * Time of the connection in milliseconds since the epoch, with a fraction: several sockets can be opened within a
   * millisecond.
   */
  connectedAt: number;
}

/** The part of a socket that a handshake uses. */
export interface ConnectingSocket {
  request: IncomingMessage;
  handshake: { auth: unknown };
  conn: { once(event: 'close', listener: () => void): unknown };
  data: Partial<SessionData>;
}

export interface HandshakeDeps {
  orchestrator: Pick<OrchestratorClient, 'authenticate'>;
  clientAddress: ClientAddress;
  metrics: Pick<GatewayMetrics, 'handshakes' | 'handshakesWaiting'>;
  logger: Pick<Logger, 'error' | 'debug'>;
  /** Limits the number of concurrent authentication requests. */
  slots: Slots;
  /** Milliseconds within which a handshake is retried after transient errors. */
  patienceMs: number;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** A refused handshake. */
export interface Refusal {
  /** The `connect_error` for a permanently refused client, with the documented error object as `data`. */
  error: Error;
  /** Whether the same credentials may be accepted later. */
  transient: boolean;
}

const RETRY = { initialMs: 100, maxMs: 2_000 };
/** An error without a code is a bug, which a new release may fix. */
const isTransient = (error: unknown): boolean => !(error instanceof ApiError) || error.retryable;

function retryAfter(error: unknown): number {
  const ms = error instanceof ApiError ? error.extra['retry_after_ms'] : undefined;
  return typeof ms === 'number' ? ms : 0;
}

/**
 * Authenticates a connecting client with the orchestrator. Retries for a limited time after a transient error. Never
 * throws.
 *
 * @returns the refusal; undefined if the client is accepted
 */
export function createHandshake(deps: HandshakeDeps) {
  const { orchestrator, clientAddress, metrics, logger, slots, patienceMs, now } = deps;
  return async ({ request, handshake, conn, data }: ConnectingSocket): Promise<Refusal | undefined> => {
    const requestId = randomUUID();
    const disconnected = new AbortController();
    conn.once('close', () => disconnected.abort());
    try {
      const credentials = readCredentials(request.headers, handshake.auth);
      const address = clientAddress(request);
      const authenticate = async () => {
        metrics.handshakesWaiting.inc();
        const release = await slots.take(disconnected.signal).finally(() => metrics.handshakesWaiting.dec());
        try {
          data.requestedAt = now();
          return await orchestrator.authenticate(credentials, address, requestId);
        } finally {
          release();
        }
      };
      const identity = await retry(authenticate, {
        ...RETRY,
        // Jitter, because clients that connected together must not be refused together.
        deadlineMs: patienceMs * (0.75 + 0.25 * Math.random()),
        signal: disconnected.signal,
        retryable: isTransient,
        waitAtLeastMs: retryAfter,
      });
      data.userId = identity.user_id;
      data.expiresAt = identity.expires_at === null ? null : new Date(identity.expires_at);
      data.tokenHash = identity.token_hash;
      data.issuedAt = identity.issued_at ?? null;
      const device = readDevice(credentials);
      data.deviceId = device.id;
      metrics.handshakes.inc({ outcome: 'ok' });
      logger.debug({ requestId, ...deviceLogFields(device) }, 'connection accepted');
      return undefined;
    } catch (error) {
      if (disconnected.signal.aborted) {
        metrics.handshakes.inc({ outcome: 'left' });
        return { error: new Error('the client disconnected'), transient: true };
      }
      metrics.handshakes.inc({ outcome: failureOf(error) });
      const body = toErrorBody(error, requestId, logger);
      logger.debug({ requestId, code: body.code }, 'connection refused');
      return { error: connectError(body), transient: isTransient(error) };
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
