import { LIMITS } from '@uswarm/contract';
import { createRedisBus, type EventBus } from '@uswarm/event-bus';
import { type CloseStack, ConfigError, createMetrics, listen, type Logger, startOpsServer } from '@uswarm/service-kit';
import { type OrchestratorConfig, readConfig, serviceVersion } from '../config.js';
import { checkSchema, migrate } from '../platform/database/migrate.js';
import { databaseTlsWarning } from '../platform/database/database-tls.js';
import { waitForDatabase } from '../platform/database/wait-for-database.js';
import { createOrchestrator, type Orchestrator, type OrchestratorOptions } from './orchestrator.js';

/** Gateways are separate processes, so an in-memory bus cannot reach them. */
function createBus({ REALTIME_REDIS_URL: url }: OrchestratorConfig, logger: Logger): EventBus {
  if (url === undefined) throw new ConfigError('REALTIME_REDIS_URL is not set');
  return createRedisBus({ url, logger });
}

/** Waits for the database, which may start later, and migrates or checks its schema. */
async function prepareDatabase(config: OrchestratorConfig, logger: Logger): Promise<void> {
  const { DATABASE_URL: url, DATABASE_WAIT_S: seconds, MIGRATE } = config;
  await waitForDatabase({ url, deadlineMs: seconds * 1_000, logger });
  const { MIGRATION_DATABASE_URL: owner = url, DATABASE_SERVING_ROLE: role } = config;
  await (MIGRATE ? migrate(owner, logger, role) : checkSchema(url));
}

/**
 * Starts the public, internal and operations ports; both entry points call it. The operations port starts first, so
 * that a process that waits for the database is alive but not ready.
 */
export async function startServer(
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
  const http = await listen(created.app, {
    host: config.HTTP_HOST,
    port: config.HTTP_PORT,
    requestTimeoutMs: LIMITS.requestMs,
  });
  stack.defer('public port', () => http.close());
  serving.orchestrator = created;
  const proxies = config.proxy.origins;
  logger.info({ port: http.port, internalPort: internal.port, opsPort: ops.port, proxies }, 'listening');
}
