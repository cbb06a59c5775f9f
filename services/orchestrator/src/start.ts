import { readFileSync } from 'node:fs';
import { createRedisBus, type EventBus } from '@uswarm/event-bus';
import {
  type CloseStack,
  ConfigError,
  createMetrics,
  listen,
  loadConfig,
  type Logger,
  startOpsServer,
} from '@uswarm/service-kit';
import { checkConfig, OrchestratorConfig } from './config.js';
import { migrate } from './database/migrate.js';
import type { OrchestratorOptions } from './options.js';
import { createOrchestrator } from './orchestrator.js';

/** The version of the service, as `GET /v1/health` shows it. */
export function serviceVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}

export function readConfig(environment: Record<string, string | undefined>): OrchestratorConfig {
  return checkConfig(loadConfig(OrchestratorConfig, environment));
}

/** The gateways are other processes: a bus in memory would lead nowhere. */
function createBus({ REALTIME_REDIS_URL: url }: OrchestratorConfig, logger: Logger): EventBus {
  if (url === undefined) throw new ConfigError('REALTIME_REDIS_URL is not set');
  return createRedisBus({ url, logger });
}

/** Migrates, then serves: public, internal and operations ports. What both entry points share. */
export async function start(
  stack: CloseStack,
  logger: Logger,
  environment: Record<string, string | undefined>,
  extras: Pick<OrchestratorOptions, 'bypass'> = {},
): Promise<void> {
  const config = readConfig(environment);
  if (config.MIGRATE) await migrate(config.DATABASE_URL, logger);
  const metrics = createMetrics('orchestrator');
  const bus = createBus(config, logger);
  stack.defer('event bus', () => bus.close());
  const orchestrator = await createOrchestrator({
    config,
    bus,
    logger,
    metrics,
    version: serviceVersion(),
    environment,
    ...extras,
  });
  stack.defer('orchestrator', orchestrator.close);

  const ops = await startOpsServer({
    port: config.OPS_PORT,
    host: config.HTTP_HOST,
    metrics,
    ready: orchestrator.ready,
  });
  stack.defer('operations port', () => ops.close());
  const internal = await listen(orchestrator.internalApp, { host: config.INTERNAL_HOST, port: config.INTERNAL_PORT });
  stack.defer('internal port', () => internal.close());
  const http = await listen(orchestrator.app, { host: config.HTTP_HOST, port: config.HTTP_PORT });
  stack.defer('public port', () => http.close());
  logger.info({ port: http.port, internalPort: internal.port, opsPort: ops.port }, 'orchestrator listens');
}
