import type { Logger } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import { createProcessDriver } from './process/process-driver.js';
import type { PoolClient } from '../runtime-client.js';
import type { RuntimePool } from '../runtime-pool.js';
import type { ChosenDriver } from './driver.js';
import { runtimeEnvironment } from './process/runtime-environment.js';
import * as runtimeProcessRecords from './process/runtime-processes.store.js';
import type { Database } from '../../platform/database/database.js';

export interface ChooseDriverDeps {
  config: OrchestratorConfig;
  environment: Record<string, string | undefined>;
  database: Database;
  pool: RuntimePool;
  client: PoolClient;
  /** See `OrchestratorOptions`. */
  ownsRuntimes: boolean;
  logger: Logger;
}

/** @throws Error if the driver named by `RUNTIME_DRIVER` lacks a setting */
export async function chooseDriver(deps: ChooseDriverDeps): Promise<ChosenDriver> {
  if (deps.config.RUNTIME_DRIVER === 'process') return openProcessDriver(deps);
  // Loaded on demand: the Kubernetes client is half of the orchestrator's code and takes most of its startup time.
  const { openKubernetesDriver } = await import('./kubernetes/open-kubernetes-driver.js');
  return openKubernetesDriver(deps);
}

async function openProcessDriver(deps: ChooseDriverDeps): Promise<ChosenDriver> {
  const { config, environment, database, pool, client, ownsRuntimes, logger } = deps;
  const { RUNTIME_PROGRAM: program } = config;
  if (program === undefined) throw new Error('RUNTIME_PROGRAM is required with RUNTIME_DRIVER=process');
  const driver = createProcessDriver({
    database,
    store: runtimeProcessRecords,
    program,
    environment: runtimeEnvironment({
      callPrivateKey: config.CALL_PRIVATE_KEY,
      mcpEndpoint: config.SVC_MCP_ENDPOINT,
      modelGatewayUrl: config.MODEL_GATEWAY_URL,
      logLevel: config.LOG_LEVEL,
      environment,
    }),
    pool,
    startPatienceMs: config.RUNTIME_START_MS,
    maxStarts: config.RUNTIME_MAX_STARTS,
    warm: {
      // Only a replica with runtime workers starts runtimes.
      size: config.RUNTIME_WORKERS === 0 ? 0 : config.RUNTIME_WARM_PROCESSES,
      bind: ({ member, port }, workspaceId) =>
        client.bind({ member, address: `http://127.0.0.1:${port}` }, workspaceId),
    },
    logger,
    ...(config.RUNTIME_LOG_DIRECTORY === undefined ? {} : { logDirectory: config.RUNTIME_LOG_DIRECTORY }),
  });
  // A killed orchestrator may have left runtimes behind, with old code and old settings.
  if (ownsRuntimes) await driver.stopAll();
  driver.warmUp();
  return {
    driver,
    async close() {
      await driver.close();
      if (ownsRuntimes) await driver.stopAll();
    },
  };
}
