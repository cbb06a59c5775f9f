import { LIMITS } from '@uswarm/contract';
import type { RateLimit } from './features/connection/token-bucket.js';
import type { DeliveryOptions } from './features/delivery/delivery.js';

export type TransportName = 'polling' | 'websocket';

export interface GatewaySettings extends DeliveryOptions {
  transports: readonly TransportName[];
  /** Origins whose pages may connect; `*` is every origin. Without one the `Origin` is not looked at. */
  corsOrigins: readonly string[];
  /** Whose `X-Forwarded-For` counts: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`. */
  trustedProxies: readonly string[];
  /** Seconds of Strict-Transport-Security on each answer; 0 sends none. */
  hstsMaxAgeS: number;
  /** Workspaces that one socket may watch. */
  subscriptionsPerSocket: number;
  /** Sockets of one user over all gateways; the oldest is closed for one more. 0 disables the limit. */
  socketsPerUser: number;
  /** Events of one socket that are taken up. */
  eventsPerSocket: RateLimit;
  /** Events of one socket that are refused before it is closed. */
  refusalsPerSocket: RateLimit;
  /** Bytes that may wait for one socket before it is closed. */
  unreadBytesPerSocket: number;
  /** Connections of one address that are not authenticated yet; 0 disables the limit. */
  unauthenticatedPerAddress: number;
  /** Milliseconds from a connection to its credentials. */
  authenticationMs: number;
  /** Events of one socket that may wait to be handled. */
  queuedEventsPerSocket: number;
  /** Handshakes that may ask the orchestrator concurrently. */
  concurrentHandshakes: number;
  /** Handshakes that may wait for their turn; while as many wait, new connections are refused. */
  queuedHandshakes: number;
  /** Milliseconds in which a handshake is repeated after a transient fault, before its connection is closed. */
  handshakePatienceMs: number;
  /** Milliseconds that the bus may take to confirm a subscription; later events of the socket wait that long. */
  busTimeoutMs: number;
  /** Milliseconds between two looks at whether the sessions of the sockets have ended. */
  sessionCheckMs: number;
  /** Milliseconds over which a shutdown closes connections, so that clients do not reconnect at the same time. */
  shutdownWindowMs: number;
}

export const DEFAULT_SETTINGS: GatewaySettings = {
  transports: ['polling', 'websocket'],
  corsOrigins: [],
  trustedProxies: [],
  hstsMaxAgeS: 0,
  subscriptionsPerSocket: LIMITS.subscriptionsPerSocket,
  socketsPerUser: LIMITS.socketsPerUser,
  eventsPerSocket: LIMITS.eventsPerSocket,
  refusalsPerSocket: { perSecond: 1, burst: 50 },
  unreadBytesPerSocket: LIMITS.unreadBytesPerSocket,
  unauthenticatedPerAddress: 1_000,
  authenticationMs: 5_000,
  queuedEventsPerSocket: 64,
  concurrentHandshakes: 32,
  queuedHandshakes: 2_000,
  handshakePatienceMs: 8_000,
  busTimeoutMs: 2_000,
  sessionCheckMs: 60_000,
  shutdownWindowMs: 3_000,
  gapTimeoutMs: 200,
  bufferLimit: 1_000,
  holdLimitMs: 2_000,
  chunkMemory: 256,
};
