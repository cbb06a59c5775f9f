import type { SessionEndingCode } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { GatewayMetrics } from '../../metrics/gateway-metrics.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import type { Emit } from '../../server-events.js';
import type { GatewaySettings } from '../../settings.js';
import type { Timers } from '../../timers.js';
import type { Hubs } from '../hub/hubs.js';
import { Outlet } from '../hub/outlet.js';
import { createReportPosition, type PositionReports } from '../hub/position-reports.js';
import { createSubscription } from '../hub/subscription.js';
import { createSubscriptions } from '../hub/subscriptions.js';
import { createSendMessage } from '../messages/send-message.js';
import { createDispatch } from './dispatch.js';
import { createOwnedWorkspaces } from './owned-workspaces.js';
import { createRenewSession } from './renew-session.js';
import type { ResumeTokens } from './resume-token.js';
import type { SessionData } from './session-data.js';
import { createSessionLifetime } from './session-lifetime.js';
import type { SessionRegistry } from './session-registry.js';
import { createSubscriptionCheck } from './subscription-check.js';
import { createTokenBucket } from './token-bucket.js';

export interface SessionDeps {
  orchestrator: OrchestratorClient;
  hubs: Pick<Hubs, 'use'>;
  positionReports: Pick<PositionReports, 'add'>;
  logger: Logger;
  metrics: GatewayMetrics;
  resumeTokens: Pick<ResumeTokens, 'issue'>;
  sessionRegistry: Pick<SessionRegistry, 'hasEnded'>;
  settings: GatewaySettings;
  timers: Timers;
  /** Monotonic milliseconds. */
  now: () => number;
}

/** The used part of a socket. */
export interface SessionSocket {
  /** Client address. */
  address: string;
  emit: Emit;
  /** Sends an encoded packet. `flushed` is called when the system has taken it. */
  write(packet: string, flushed?: () => void): void;
  /** Bytes that the client has not taken yet. */
  unflushedBytes(): number;
  /** Sends the reason to the client and closes its connection. */
  end(code: SessionEndingCode): void;
}

export interface Session {
  /** Handles a client event: its name, payload and optional acknowledgement callback. */
  dispatch(name: string, ...args: unknown[]): void;
  /** Called when the socket is closed. */
  close(): void;
}

/** The state and handlers of one authenticated socket. */
export function createSession(data: SessionData, socket: SessionSocket, deps: SessionDeps): Session {
  const { orchestrator, hubs, positionReports, metrics, settings, timers, now } = deps;
  const { userId, deviceId, access } = data;
  const { emit } = socket;

  const outlet = new Outlet({
    connection: socket,
    options: settings.outlet,
    timers,
    stalled: () => socket.end('slow_consumer'),
  });
  const workspaces = createOwnedWorkspaces(data.workspaceIds, () => lifetime.workspacesChanged());
  const lifetime = createSessionLifetime({
    ...deps,
    data,
    workspaces,
    tokens: deps.resumeTokens,
    emit,
    end: socket.end,
  });
  const subscriptionDeps = { userId, outlet, emit, metrics, timers, now, options: settings.subscriptions };
  const subscriptions = createSubscriptions({
    userId,
    hubs,
    check: createSubscriptionCheck({ access, orchestrator, hubs, workspaces }),
    emit,
    metrics,
    open: (start) => createSubscription(start, subscriptionDeps),
    limit: settings.subscriptionsPerSocket,
    busTimeoutMs: settings.busTimeoutMs,
    timers,
  });
  const dispatch = createDispatch({
    handlers: {
      'workspace.subscribe': subscriptions.subscribe,
      'workspace.unsubscribe': subscriptions.unsubscribe,
      'session.renew': createRenewSession({ ...deps, data, address: socket.address, lifetime, emit }),
      'message.send': createSendMessage({
        userId,
        access,
        orchestrator,
        emit,
        holdEvents: subscriptions.hold,
        metrics,
      }),
      position: createReportPosition({ userId, deviceId, reports: positionReports, cursor: subscriptions.cursor }),
    },
    logger: () => deps.logger.child({ userId }),
    metrics,
    queueLimit: settings.queuedEventsPerSocket,
    rate: createTokenBucket(settings.eventsPerSocket, now),
    refusals: createTokenBucket(settings.refusalsPerSocket, now),
    flooded: () => socket.end('rate_limited'),
  });
  lifetime.start();

  return {
    dispatch,
    close() {
      lifetime.stop();
      outlet.close();
      subscriptions.close();
    },
  };
}
