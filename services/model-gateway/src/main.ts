import {
  createLogger,
  createMetrics,
  createServiceCredential,
  listen,
  runService,
  startOpsServer,
} from '@uswarm/service-kit';
import { startTracing } from '@uswarm/service-kit/start-tracing';
import { loadModelGatewayConfig } from './config.js';
import { createModelGatewayMetrics } from './metrics.js';
import { createModelCallClient } from './model-call-client.js';
import { createModelGateway } from './model-gateway.js';

const service = 'model-gateway';
const logger = createLogger({ service });
/** For the settlement of calls that are cut. */
const CLOSING_MS = 10_000;

let graceMs = 0;
const shutdownDeadlineMs = (): number => graceMs + CLOSING_MS;
const tracing = () => startTracing(service, logger);
await runService({ logger, shutdownDeadlineMs, tracing }, async (stack) => {
  const config = loadModelGatewayConfig(process.env);
  logger.level = config.logLevel;
  graceMs = config.shutdownGraceMs;
  const registry = createMetrics(service);
  let serving = false;

  const calls = createModelCallClient({
    ...config.internalApi,
    onTokenVerdict: (verdict) => credential.note(verdict),
  });
  const credential = createServiceCredential(() => calls.checkToken(), {
    setting: 'MODEL_CALLS_KEY',
    registry,
    logger,
  });
  stack.defer('credential check', () => credential.stop());
  const ready = (): boolean => serving && credential.isAccepted();
  const ops = await startOpsServer({ metrics: registry, ready, port: config.opsPort });
  stack.defer('operations server', () => ops.close());
  stack.defer('orchestrator client', () => calls.close());
  const gateway = createModelGateway({ config, calls, metrics: createModelGatewayMetrics(registry), logger });
  stack.defer('running calls', () => gateway.close());
  const http = await listen(gateway.handler, { host: config.host, port: config.port });
  stack.defer('HTTP server', () => {
    serving = false;
    return http.close(graceMs);
  });
  await credential.start();
  serving = true;
  const providers = Object.keys(config.providers);
  logger.info({ port: http.port, ops_port: ops.port, providers, proxies: config.proxy.origins }, 'listening');
});
