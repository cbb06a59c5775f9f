import type { SessionEndingCode } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Emit } from '../../server-events.js';
import type { GatewaySettings } from '../../settings.js';
import type { Timers } from '../../timers.js';
import type { Hubs } from '../hub/hubs.js';
import { createOutlet } from '../hub/outlet.js';
import { createReportPosition, type PositionReports } from '../hub/position-reports.js';
import { createSubscription } from '../hub/subscription.js';
import { createSubscriptions } from '../hub/subscriptions.js';
import { createSendMessage } from '../messages/send-message.js';
import { createDispatch } from './dispatch.js';
import type { SessionData } from './handshake.js';
import { createTokenBucket } from './token-bucket.js';

export interface SessionDeps {
  orchestrator: OrchestratorClient;
  hubs: Pick<Hubs, 'use'>;
  positionReports: Pick<PositionReports, 'add'>;
  logger: Logger;
  metrics: GatewayMetrics;
  settings: GatewaySettings;
  timers: Timers;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** The part of a socket that a session uses. */
export interface SessionSocket {
  emit: Emit;
  /** Sends an encoded packet. `flushed` is called when the system has taken it. */
  write(packet: string, flushed?: () => void): void;
  /** Bytes that the client has not taken yet. */
  unflushedBytes(): number;
  /** Sends the reason to the client and closes its connection. */
  end(code: SessionEndingCode): void;
}

export interface Session {
  /** Handles an event of the client: its name, payload and optional acknowledgement callback. */
  dispatch(name: string, ...args: unknown[]): void;
  /** Called when the socket is closed. */
  close(): void;
}

/** The state and handlers of one authenticated socket. */
export function createSession(
  { userId, deviceId, expiresAt }: SessionData,
  socket: SessionSocket,
  deps: SessionDeps,
): Session {
  const { orchestrator, hubs, positionReports, metrics, settings, timers, now } = deps;
  const logger = deps.logger.child({ userId });
  const { emit } = socket;

  const outlet = createOutlet({
    connection: socket,
    options: settings.outlet,
    timers,
    stalled: () => socket.end('slow_consumer'),
  });
  const subscriptions = createSubscriptions({
    userId,
    hubs,
    orchestrator,
    emit,
    metrics,
    open: (start) =>
      createSubscription(start, { userId, outlet, emit, metrics, timers, now, options: settings.subscriptions }),
    limit: settings.subscriptionsPerSocket,
    busTimeoutMs: settings.busTimeoutMs,
  });
  const dispatch = createDispatch({
    handlers: {
      'workspace.subscribe': subscriptions.subscribe,
      'workspace.unsubscribe': subscriptions.unsubscribe,
      'message.send': createSendMessage({ userId, orchestrator, emit, holdEvents: subscriptions.hold, metrics }),
      position: createReportPosition({ userId, deviceId, reports: positionReports, cursor: subscriptions.cursor }),
    },
    logger,
    metrics,
    queueLimit: settings.queuedEventsPerSocket,
    rate: createTokenBucket(settings.eventsPerSocket, now),
    refusals: createTokenBucket(settings.refusalsPerSocket, now),
    flooded: () => socket.end('rate_limited'),
  });
  const cancelExpiry =
    expiresAt === null ? undefined : timers.after(expiresAt.getTime() - Date.now(), () => socket.end('token_expired'));

  return {
    dispatch,
    close() {
      cancelExpiry?.();
      outlet.close();
      subscriptions.close();
    },
  };
}
