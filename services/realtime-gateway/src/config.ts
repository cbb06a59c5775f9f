import { corsOrigins, hstsMaxAge, list, port, proxyList, secret, secretText } from '@uswarm/service-kit';
import { z } from 'zod';
import { DEFAULT_SETTINGS } from './settings.js';

const count = z.coerce.number().int().min(0);
const milliseconds = z.coerce.number().int().min(0);

/** Everything the gateway can be told, by environment; secrets also by file. No secret has a default. */
export const GatewayConfig = z.object({
  GATEWAY_HOST: z.string().default('0.0.0.0'),
  GATEWAY_PORT: port.default(8080),
  OPS_PORT: port.default(8081),
  /** Origin of the orchestrator's internal API. */
  INTERNAL_API_URL: z.url({ protocol: /^https?$/ }),
  /** `<id>:<secret>`, as the orchestrator has it. */
  INTERNAL_API_KEY: secret(secretText(32)),
  /** Where realtime events come from. */
  REALTIME_REDIS_URL: secret(z.url({ protocol: /^rediss?$/ })),
  /** `polling`, `websocket` or both, comma-separated. */
  TRANSPORTS: list.pipe(z.array(z.enum(['polling', 'websocket'])).min(1)).default([...DEFAULT_SETTINGS.transports]),
  /**
   * Origins whose pages may connect, comma-separated; only `*` is every origin. Without one no page may poll from another
   * origin, and the `Origin` of a WebSocket is not looked at: apps send one too.
   */
  CORS_ORIGINS: corsOrigins.default([]),
  /** Whose `X-Forwarded-For` counts: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`. */
  HTTP_TRUSTED_PROXIES: proxyList.default([]),
  /** Seconds of Strict-Transport-Security on each answer; only with https at the edge. */
  HSTS_MAX_AGE_S: hstsMaxAge,
  /** Sockets of one user over all gateways; 0 disables the limit. */
  SOCKETS_PER_USER: count.default(DEFAULT_SETTINGS.socketsPerUser),
  /** Sustained events per second of one socket, and its burst; 0 per second disables the limit. */
  SOCKET_EVENTS_PER_S: count.default(DEFAULT_SETTINGS.eventsPerSocket.perSecond),
  SOCKET_EVENTS_BURST: count.min(1).default(DEFAULT_SETTINGS.eventsPerSocket.burst),
  /** Bytes that may wait for one socket. */
  SOCKET_UNREAD_BYTES: count.min(16 * 1024).default(DEFAULT_SETTINGS.unreadBytesPerSocket),
  /** Connections of one address that are not authenticated yet; 0 disables the limit. */
  UNAUTHENTICATED_PER_ADDRESS: count.default(DEFAULT_SETTINGS.unauthenticatedPerAddress),
  SHUTDOWN_WINDOW_MS: milliseconds.default(DEFAULT_SETTINGS.shutdownWindowMs),
  LOG_LEVEL: z.string().default('info'),
});
export type GatewayConfig = z.output<typeof GatewayConfig>;
