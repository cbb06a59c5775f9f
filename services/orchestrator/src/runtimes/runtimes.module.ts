import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../config.js';
import { callKeys, idleSuspendAfterMs } from './runtime-settings.js';
import type { Connections } from '../records/connections.js';
import type { Database } from '../platform/database/database.js';
import type { UrgentJobDefinition } from '../platform/jobs/job-definition.js';
import type { JobQueue } from '../platform/jobs/job-queue.js';
import type { EventPublisher } from '../events/event-publisher.js';
import { chooseDriver } from './drivers/choose-driver.js';
import { createRuntimeReconciler } from './runtime-reconciler.js';
import { createRuntimeClient } from './runtime-client.js';
import { createRuntimePool } from './runtime-pool.js';
import { createRuntimeMetrics } from './runtime-metrics.js';
import { createRuntimeRequests, RUNTIME_JOB } from '../records/runtime-requests.js';
import { createRuntimeWatch, type RuntimeWatch } from './runtime-watch.js';
import * as runtimeRecords from '../records/runtimes.store.js';
import * as agentRecords from '../records/agents.store.js';

export interface RuntimesModuleDeps {
  config: OrchestratorConfig;
  environment: Record<string, string | undefined>;
  /** See `OrchestratorOptions`. */
  ownsRuntimes: boolean;
  database: Database;
  jobs: JobQueue;
  background: Connections;
  publisher: Pick<EventPublisher, 'live'>;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

export async function createRuntimesModule(deps: RuntimesModuleDeps) {
  const { config, environment, ownsRuntimes, background, clock, logger } = deps;
  const metrics = createRuntimeMetrics(deps.metrics);
  const client = createRuntimeClient(callKeys(config));
  const pool = createRuntimePool({
    places: config.RUNTIME_MAX_PROCESSES,
    requestReconcile(workspaceId) {
      background.jobs.ensureDue(RUNTIME_JOB, [workspaceId], 0).catch((error: unknown) => {
        // The next resync finds the runtime.
        logger.warn({ err: error, workspace: workspaceId }, 'requesting a reconcile failed');
      });
    },
  });
  const { driver, close: closeDriver } = await chooseDriver({
    config,
    environment,
    database: background.database,
    pool,
    client,
    ownsRuntimes,
    logger,
  });
  const job: UrgentJobDefinition = {
    type: RUNTIME_JOB,
    concurrency: config.RUNTIME_WORKERS,
    handle: createRuntimeReconciler({
      withTransaction: background.withTransaction,
      database: background.database,
      store: runtimeRecords,
      jobs: background.jobs,
      driver,
      client,
      pool,
      events: background.events,
      agents: agentRecords,
      publish: deps.publisher.live,
      idleSuspendAfterMs: idleSuspendAfterMs(config),
      metrics,
      clock,
      logger,
    }),
  };
  return {
    client,
    requests: createRuntimeRequests({
      store: runtimeRecords,
      jobs: deps.jobs,
      makeDueNow: background.jobs.makeDueNow,
      metrics,
    }),
    /** Call it when work that calls the runtime begins. @returns a function to call when it ends */
    use: pool.use,
    urgentJobs: [job],
    /** A replica without runtime workers leaves the comparison to the others. */
    startWatch(): RuntimeWatch | undefined {
      if (config.RUNTIME_WORKERS === 0) return undefined;
      return createRuntimeWatch({
        database: background.database,
        store: runtimeRecords,
        jobs: background.jobs,
        driver,
        client,
        metrics,
        clock,
        logger,
      });
    },
    /** Call it after the workers are closed: the reconciler would start ended runtimes again. */
    async close() {
      await closeDriver();
      client.close();
    },
  };
}
