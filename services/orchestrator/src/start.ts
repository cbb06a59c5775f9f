import { readFileSync } from 'node:fs';
import { createRedisBus, type EventBus } from '@uswarm/event-bus';
import { type CloseStack, ConfigError, createMetrics, listen, type Logger, startOpsServer } from '@uswarm/service-kit';
import { type OrchestratorConfig, readConfig } from './config.js';
import { checkSchema, migrate } from './database/migrate.js';
import { databaseTlsWarning } from './database/database-tls.js';
import { waitForDatabase } from './database/wait-for-database.js';
import type { OrchestratorOptions } from './options.js';
import { createOrchestrator, type Orchestrator } from './orchestrator.js';

/** The version of the service, as `GET /v1/health` shows it. */
export function serviceVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}

/** The gateways are other processes: a bus in memory would lead nowhere. */
function createBus({ REALTIME_REDIS_URL: url }: OrchestratorConfig, logger: Logger): EventBus {
  if (url === undefined) throw new ConfigError('REALTIME_REDIS_URL is not set');
  return createRedisBus({ url, logger });
}

/** Other parts may start later: waits for the database, and sees that its schema is what is needed. */
async function prepareDatabase(config: OrchestratorConfig, logger: Logger): Promise<void> {
  const { DATABASE_URL: url, DATABASE_WAIT_S: seconds, MIGRATE } = config;
  await waitForDatabase({ url, deadlineMs: seconds * 1_000, logger });
  const { MIGRATION_DATABASE_URL: owner = url, DATABASE_SERVING_ROLE: role } = config;
  await (MIGRATE ? migrate(owner, logger, role) : checkSchema(url));
}

/**
 * Serves: public, internal and operations ports. What both entry points share. The operations port
 * comes first, so that a start that waits is alive and not ready.
 */
export async function start(
  stack: CloseStack,
  logger: Logger,
  environment: Record<string, string | undefined>,
  extras: Pick<OrchestratorOptions, 'bypass'> = {},
): Promise<void> {
  const config = readConfig(environment);
  const warning = databaseTlsWarning(config.DATABASE_URL);
  if (warning !== undefined) logger.warn(warning);
  const metrics = createMetrics('orchestrator');
  const bus = createBus(config, logger);
  stack.defer('event bus', () => bus.close());
  const serving: { orchestrator?: Orchestrator } = {};
  const ops = await startOpsServer({
    port: config.OPS_PORT,
    host: config.HTTP_HOST,
    metrics,
    ready: () => serving.orchestrator?.ready() ?? false,
  });
  stack.defer('operations port', () => ops.close());
  await prepareDatabase(config, logger);
  const version = serviceVersion();
  const created = await createOrchestrator({ config, bus, logger, metrics, version, environment, ...extras });
  stack.defer('orchestrator', created.close);

  const internal = await listen(created.internalApp, { host: config.INTERNAL_HOST, port: config.INTERNAL_PORT });
  stack.defer('internal port', () => internal.close());
  const http = await listen(created.app, { host: config.HTTP_HOST, port: config.HTTP_PORT });
  stack.defer('public port', () => http.close());
  serving.orchestrator = created;
  logger.info({ port: http.port, internalPort: internal.port, opsPort: ops.port }, 'listening');
}
