import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { isIPv6 } from 'node:net';
import { createRedisBus } from '@uswarm/event-bus';
import {
  createLogger,
  createMetrics,
  createServiceCredential,
  listen,
  loadConfig,
  parseSigningKey,
  parseSigningKeys,
  runService,
  startOpsServer,
} from '@uswarm/service-kit';
import { startTracing } from '@uswarm/service-kit/start-tracing';
import { GatewayConfig } from './config.js';
import { createGateway } from './gateway.js';
import { createGatewayMetrics, registerBus } from './metrics/gateway-metrics.js';
import { createOrchestratorClient } from './orchestrator-client.js';

const service = 'realtime-gateway';

function peerAddressOf({ GATEWAY_PEER_HOST: host, GATEWAY_PORT }: GatewayConfig): string | undefined {
  if (host === undefined || host === '') return undefined;
  return `${isIPv6(host) ? `[${host}]` : host}:${GATEWAY_PORT}`;
}

const logger = createLogger({ service });

/** Beside the window in which clients are disconnected. */
const SHUTDOWN_MARGIN_MS = 8_000;
let shutdownWindowMs = 0;

const shutdownDeadlineMs = (): number => shutdownWindowMs + SHUTDOWN_MARGIN_MS;
const tracing = () => startTracing(service, logger);
await runService({ logger, shutdownDeadlineMs, tracing }, async (stack) => {
  const config = loadConfig(GatewayConfig, process.env);
  shutdownWindowMs = config.SHUTDOWN_WINDOW_MS;
  logger.level = config.LOG_LEVEL;
  const registry = createMetrics(service);
  const metrics = createGatewayMetrics(registry);
  let serving = false;

  const bus = createRedisBus({
    url: config.REALTIME_REDIS_URL,
    logger,
    onInvalid: () => metrics.invalidEnvelopes.inc(),
  });
  stack.defer('event bus', () => bus.close());
  registerBus(registry, bus);
  const credential = createServiceCredential(() => orchestrator.checkServiceToken(randomUUID()), {
    setting: 'INTERNAL_API_KEY',
    registry,
    logger,
  });
  stack.defer('credential check', () => credential.stop());
  const ops = await startOpsServer({
    metrics: registry,
    // Without Redis clients still connect and send: that is `uswarm_event_bus_up`, not readiness.
    ready: () => serving && credential.isAccepted(),
    port: config.OPS_PORT,
  });
  stack.defer('operations server', () => ops.close());

  const orchestrator = createOrchestratorClient({
    url: config.INTERNAL_API_URL,
    key: parseSigningKey(config.INTERNAL_API_KEY),
    metrics,
    onTokenVerdict: (verdict) => credential.note(verdict),
  });
  stack.defer('orchestrator client', () => orchestrator.close());

  const httpServer = createServer((_request, response) => response.writeHead(404).end());
  const gateway = createGateway({
    httpServer,
    orchestrator,
    credential,
    bus,
    logger,
    metrics,
    peerAddress: peerAddressOf(config),
    resumeKeys: parseSigningKeys(config.INTERNAL_API_KEY, config.INTERNAL_API_KEY_PREVIOUS),
    settings: {
      transports: config.TRANSPORTS,
      corsOrigins: config.CORS_ORIGINS,
      trustedProxies: config.HTTP_TRUSTED_PROXIES,
      hstsMaxAgeS: config.HSTS_MAX_AGE_S,
      socketsPerUser: config.SOCKETS_PER_USER,
      eventsPerSocket: { perSecond: config.SOCKET_EVENTS_PER_S, burst: config.SOCKET_EVENTS_BURST },
      unreadBytesPerSocket: config.SOCKET_UNREAD_BYTES,
      unauthenticatedPerAddress: config.UNAUTHENTICATED_PER_ADDRESS,
      shutdownPerSecond: config.SHUTDOWN_SOCKETS_PER_S,
      shutdownWindowMs: config.SHUTDOWN_WINDOW_MS,
    },
  });
  const http = await listen(httpServer, { host: config.GATEWAY_HOST, port: config.GATEWAY_PORT });
  stack.defer('realtime server', () => http.close());
  stack.defer('clients', () => {
    serving = false;
    return gateway.close();
  });
  // Not ready before it is known whether the orchestrator accepts its token. An unavailable orchestrator does not delay it for long.
  await credential.start();
  serving = true;
  logger.info({ port: http.port, ops_port: ops.port }, 'serving /socket.io/');
});
