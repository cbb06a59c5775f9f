import type { SessionEndingCode } from '@uswarm/contract';
import type { EventBus } from '@uswarm/event-bus';
import type { Logger } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Emit } from '../../server-events.js';
import type { GatewaySettings } from '../../settings.js';
import type { Timers } from '../../timers.js';
import { createDelivery } from '../delivery/delivery.js';
import { createSendMessage } from '../messages/send-message.js';
import { createSubscriptions } from '../subscriptions/subscriptions.js';
import { createDispatch } from './dispatch.js';
import type { SessionData } from './handshake.js';
import { createTokenBucket } from './token-bucket.js';

export interface SessionDeps {
  orchestrator: OrchestratorClient;
  bus: Pick<EventBus, 'subscribe'>;
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
export function createSession({ userId, expiresAt }: SessionData, socket: SessionSocket, deps: SessionDeps): Session {
  const { orchestrator, bus, metrics, settings, timers, now } = deps;
  const logger = deps.logger.child({ userId });
  const { emit } = socket;

  const subscriptions = createSubscriptions({
    userId,
    bus,
    orchestrator,
    emit,
    metrics,
    openDelivery: (workspaceId) => createDelivery(workspaceId, { emit, metrics, logger, timers, options: settings }),
    limit: settings.subscriptionsPerSocket,
    busTimeoutMs: settings.busTimeoutMs,
  });
  const dispatch = createDispatch({
    handlers: {
      'workspace.subscribe': subscriptions.subscribe,
      'workspace.unsubscribe': subscriptions.unsubscribe,
      'message.send': createSendMessage({ userId, orchestrator, emit, bufferEvents: subscriptions.buffer, metrics }),
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
      subscriptions.close();
    },
  };
}
