import {
  corsOrigins,
  hstsMaxAge,
  list,
  port,
  previousSecrets,
  proxyList,
  secret,
  secretText,
  valkeyUrl,
} from '@uswarm/service-kit';
import { z } from 'zod';
import { DEFAULT_SETTINGS } from './settings.js';

const count = z.coerce.number().int().min(0);
const milliseconds = z.coerce.number().int().min(0);

/** Gateway environment. Secrets can also be read from files and have no defaults. */
export const GatewayConfig = z.object({
  GATEWAY_HOST: z.string().optional(),
  GATEWAY_PORT: port.default(8080),
  OPS_PORT: port.default(8081),
  /**
   * This gateway's address, such as its pod IP. Other gateways with the same key forward requests for its polling
   * sessions to it, so that a load balancer needs no session affinity.
   */
  GATEWAY_PEER_HOST: z.string().optional(),
  /** Origin of the orchestrator's internal API. */
  INTERNAL_API_URL: z.url({ protocol: /^https?$/ }),
  /** `<id>:<secret>`, shared with the orchestrator. */
  INTERNAL_API_KEY: secret(secretText(32)),
  /** Previous keys, whose resume tokens are accepted during a rotation. */
  INTERNAL_API_KEY_PREVIOUS: secret(previousSecrets(32).default([])),
  /** The event bus: one server, `redis-cluster://` or `redis-sentinel://`. */
  REALTIME_REDIS_URL: secret(valkeyUrl),
  /** `polling`, `websocket` or both, comma-separated. */
  TRANSPORTS: list.pipe(z.array(z.enum(['polling', 'websocket'])).min(1)).default([...DEFAULT_SETTINGS.transports]),
  /**
   * Origins whose pages may connect, comma-separated; `*` allows every origin. If empty, no page may poll from another
   * origin, and a WebSocket's `Origin` is not checked, because apps send one too.
   */
  CORS_ORIGINS: corsOrigins.default([]),
  /** Proxies whose `X-Forwarded-For` is used: addresses, CIDR ranges, `loopback`, `linklocal`, `uniquelocal`. */
  HTTP_TRUSTED_PROXIES: proxyList.default([]),
  /** `max-age` of Strict-Transport-Security in seconds; set it only if the edge uses https. */
  HSTS_MAX_AGE_S: hstsMaxAge,
  /** Maximum number of sockets per user on all gateways; 0 disables the limit. */
  SOCKETS_PER_USER: count.default(DEFAULT_SETTINGS.socketsPerUser),
  /** Sustained events per second per socket, and the burst; 0 per second disables the limit. */
  SOCKET_EVENTS_PER_S: count.default(DEFAULT_SETTINGS.eventsPerSocket.perSecond),
  SOCKET_EVENTS_BURST: count.min(1).default(DEFAULT_SETTINGS.eventsPerSocket.burst),
  /** Maximum number of unread bytes per socket. */
  SOCKET_UNREAD_BYTES: count.min(16 * 1024).default(DEFAULT_SETTINGS.unreadBytesPerSocket),
  /** Maximum number of unauthenticated connections per address; 0 disables the limit. */
  UNAUTHENTICATED_PER_ADDRESS: count.default(DEFAULT_SETTINGS.unauthenticatedPerAddress),
  /** Connections that a shutdown closes per second, and the milliseconds within which it closes all of them. */
  SHUTDOWN_SOCKETS_PER_S: count.default(DEFAULT_SETTINGS.shutdownPerSecond),
  SHUTDOWN_WINDOW_MS: milliseconds.default(DEFAULT_SETTINGS.shutdownWindowMs),
  LOG_LEVEL: z.string().default('info'),
});
export type GatewayConfig = z.output<typeof GatewayConfig>;
