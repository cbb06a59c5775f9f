import { LIMITS } from '@uswarm/contract';
import type { RateLimit } from './features/connection/token-bucket.js';
import type { HubsOptions } from './features/hub/hubs.js';
import type { OutletOptions } from './features/hub/outlet.js';
import type { SubscriptionOptions } from './features/hub/subscription.js';

export type TransportName = 'polling' | 'websocket';

export interface GatewaySettings {
  transports: readonly TransportName[];
  /** Origins whose pages may connect; `*` allows every origin. An empty list disables the check of `Origin`. */
  corsOrigins: readonly string[];
  /** Proxies whose `X-Forwarded-For` is used: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`. */
  trustedProxies: readonly string[];
  /** `max-age` of Strict-Transport-Security in seconds; 0 omits the header. */
  hstsMaxAgeS: number;
  /** Maximum number of workspace subscriptions per socket. */
  subscriptionsPerSocket: number;
  /** Maximum number of sockets per user on all gateways; the oldest ones above it are closed. 0 disables the limit. */
  socketsPerUser: number;
  /** Rate of handled events per socket. */
  eventsPerSocket: RateLimit;
  /** Rate of events that are refused as too many per socket, above which its session ends. */
  refusalsPerSocket: RateLimit;
  /** Milliseconds until a connection is closed whose session ended for too many events, and its client reconnects. */
  floodPauseMs: number;
  /** Maximum number of unread bytes per socket, above which it is closed. */
  unreadBytesPerSocket: number;
  /** Maximum number of unauthenticated connections per address; 0 disables the limit. */
  unauthenticatedPerAddress: number;
  /** Milliseconds from a connection until its credentials must arrive. */
  authenticationMs: number;
  /** Maximum number of queued events per socket. */
  queuedEventsPerSocket: number;
  /** Maximum number of concurrent authentication requests. */
  concurrentHandshakes: number;
  /** Maximum number of queued handshakes; new connections are refused while the queue is full. */
  queuedHandshakes: number;
  /** Milliseconds within which a handshake is retried after a transient error, before its connection is closed. */
  handshakePatienceMs: number;
  /** Milliseconds for which a subscribe waits for the bus; later socket events wait for it. */
  busTimeoutMs: number;
  hubs: HubsOptions;
  outlet: OutletOptions;
  subscriptions: SubscriptionOptions;
  /** Milliseconds between two requests with device positions. */
  positionReportMs: number;
  /** Milliseconds between two checks for revoked sessions. */
  sessionCheckMs: number;
  /** Milliseconds until the next check after a failed one. */
  sessionCheckRetryMs: number;
  /** Milliseconds for which a resuming socket waits until the orchestrator confirms its session. */
  resumeConfirmMs: number;
  /** Milliseconds after which a client gets a newer resume token. */
  resumeTokenMs: number;
  /** Connections that a shutdown closes per second, so that clients do not reconnect at the same time; 0 disables the limit. */
  shutdownPerSecond: number;
  /** Milliseconds within which a shutdown closes all connections. */
  shutdownWindowMs: number;
}

const MIB = 1024 ** 2;

export const DEFAULT_SETTINGS: GatewaySettings = {
  transports: ['polling', 'websocket'],
  corsOrigins: [],
  trustedProxies: [],
  hstsMaxAgeS: 0,
  subscriptionsPerSocket: LIMITS.subscriptionsPerSocket,
  socketsPerUser: LIMITS.socketsPerUser,
  eventsPerSocket: LIMITS.eventsPerSocket,
  refusalsPerSocket: LIMITS.refusalsPerSocket,
  floodPauseMs: 5_000,
  unreadBytesPerSocket: LIMITS.unreadBytesPerSocket,
  unauthenticatedPerAddress: 1_000,
  authenticationMs: 5_000,
  queuedEventsPerSocket: LIMITS.queuedEventsPerSocket,
  concurrentHandshakes: 32,
  queuedHandshakes: 2_000,
  handshakePatienceMs: 8_000,
  busTimeoutMs: 500,
  sessionCheckMs: 60_000,
  sessionCheckRetryMs: 2_000,
  resumeConfirmMs: 500,
  resumeTokenMs: 4 * 60_000,
  shutdownPerSecond: 200,
  shutdownWindowMs: 15_000,
  hubs: {
    ringEvents: 256,
    ringBytes: 512 * 1024,
    historyBytes: 64 * MIB,
    gapMs: 50,
    stateRetryMs: 2_000,
    concurrentReads: 32,
    positionCheckMs: 10_000,
  },
  outlet: { unflushedBytes: 64 * 1024, stallMs: 30_000 },
  subscriptions: { maxHoldMs: 2_000, resumeEvents: 10_000, resyncSpreadMs: 5_000 },
  positionReportMs: LIMITS.positions.gatewayMs,
};
