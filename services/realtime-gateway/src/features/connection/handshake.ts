import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { ApiError, type ErrorBody } from '@uswarm/contract';
import { type ClientAddress, deviceLogFields, type Logger, readDevice, retry } from '@uswarm/service-kit';
import { toErrorBody } from '../../error-body.js';
import { type GatewayMetrics, type HandshakeOutcome, outcomeOf } from '../../gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { readCredentials } from './credentials.js';
import type { Slots } from './slots.js';

/** What the gateway knows of a connected client. */
export interface SessionData {
  userId: string;
  /** When the credential expires; null if it does not. */
  expiresAt: Date | null;
  /** Identifies the credential when it is revoked; null if it cannot be revoked. */
  tokenHash: string | null;
  /** When the credential was issued, as ISO 8601; null if unknown. */
  issuedAt: string | null;
  /** When the orchestrator was asked about it, in milliseconds that only grow. */
  askedAt: number;
}

/** The part of a socket that a handshake looks at. */
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
  /** Limits how many handshakes ask the orchestrator concurrently. */
  slots: Slots;
  /** Milliseconds in which a handshake is repeated after transient faults. */
  patienceMs: number;
  /** Milliseconds that only grow. */
  now: () => number;
}

/** Why a client is not let in. */
export interface Refusal {
  /** What a client that is refused for good gets as `connect_error`, with the documented error object as `data`. */
  error: Error;
  /** Whether the same credentials may be accepted later: the fault is not the client's. */
  transient: boolean;
}

const RETRY = { initialMs: 100, maxMs: 2_000 };
/** An error without a code is our bug, which a release may fix while the client waits. */
const isTransient = (error: unknown): boolean => !(error instanceof ApiError) || error.retryable;

function retryAfter(error: unknown): number {
  const ms = error instanceof ApiError ? error.extra['retry_after_ms'] : undefined;
  return typeof ms === 'number' ? ms : 0;
}

/**
 * Asks the orchestrator who a connecting client is; asks again for a while after a transient fault.
 *
 * @returns why the client is not let in; nothing when it is. Never throws. spec: orchestrator §5, §6, §7
 */
export function createHandshake(deps: HandshakeDeps) {
  const { orchestrator, clientAddress, metrics, logger, slots, patienceMs, now } = deps;
  return async ({ request, handshake, conn, data }: ConnectingSocket): Promise<Refusal | undefined> => {
    const requestId = randomUUID();
    const gone = new AbortController();
    conn.once('close', () => gone.abort());
    try {
      const credentials = readCredentials(request.headers, handshake.auth);
      const address = clientAddress(request);
      const ask = async () => {
        metrics.handshakesWaiting.inc();
        const release = await slots.take(gone.signal).finally(() => metrics.handshakesWaiting.dec());
        try {
          data.askedAt = now();
          return await orchestrator.authenticate(credentials, address, requestId);
        } finally {
          release();
        }
      };
      const answer = await retry(ask, {
        ...RETRY,
        // Jitter: clients that came together must not be sent away together.
        deadlineMs: patienceMs * (0.75 + 0.25 * Math.random()),
        signal: gone.signal,
        retryable: isTransient,
        waitAtLeastMs: retryAfter,
      });
      data.userId = answer.user_id;
      data.expiresAt = answer.expires_at === null ? null : new Date(answer.expires_at);
      data.tokenHash = answer.token_hash;
      data.issuedAt = answer.issued_at ?? null;
      metrics.handshakes.inc({ outcome: 'ok' });
      logger.debug({ requestId, ...deviceLogFields(readDevice(credentials)) }, 'let a socket in');
      return undefined;
    } catch (error) {
      if (gone.signal.aborted) {
        metrics.handshakes.inc({ outcome: 'left' });
        return { error: new Error('the client left'), transient: true };
      }
      metrics.handshakes.inc({ outcome: failureOf(error) });
      const body = toErrorBody(error, requestId, logger);
      logger.debug({ requestId, code: body.code }, 'refused a socket');
      return { error: connectError(body), transient: isTransient(error) };
    }
  };
}

function failureOf(error: unknown): HandshakeOutcome {
  return error instanceof ApiError && error.code === 'rate_limited' ? error.code : outcomeOf(error);
}

/** How socket.io carries an error object to a client that is not let in. */
export function connectError(body: ErrorBody): Error {
  return Object.assign(new Error(body.message), { data: body });
}
