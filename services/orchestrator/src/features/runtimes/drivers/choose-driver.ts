import { createCredentials, createKubeClient, createWatch, loadKubeConfig } from '@uswarm/kube-client';
import { type Logger, systemClock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../../config.js';
import { createDrainFlag } from './kubernetes/drain-flag.js';
import { createKubernetesDriver } from './kubernetes/kubernetes-driver.js';
import { createProcessDriver } from './process/process-driver.js';
import type { RuntimePool } from '../runtime-pool.js';
import type { RuntimeDriver } from './driver.js';
import { runtimeEnvironment } from './process/runtime-environment.js';
import type { RuntimeProcessStore } from './process/runtime-processes.store.js';
import { FIELD_MANAGER } from './kubernetes/userswarm-apply.js';
import { USERSWARMS } from '@uswarm/contract/userswarm';

export interface ChooseDriverDeps {
  config: OrchestratorConfig;
  environment: Record<string, string | undefined>;
  runtimeProcesses: RuntimeProcessStore;
  pool: RuntimePool;
  /** See `OrchestratorOptions`. */
  ownsRuntimes: boolean;
  logger: Logger;
}

export interface ChosenDriver {
  driver: RuntimeDriver;
  /** Call it when the driver is no longer in use. */
  close(): Promise<void>;
}

/** The timeout of calls to the API server. */
const CALL_MS = 10_000;

/** Creates the driver that `RUNTIME_DRIVER` names. @throws Error if a setting of the driver is missing */
export async function chooseDriver(deps: ChooseDriverDeps): Promise<ChosenDriver> {
  return deps.config.RUNTIME_DRIVER === 'kubernetes' ? openKubernetesDriver(deps) : openProcessDriver(deps);
}

async function openKubernetesDriver({ config, environment, logger }: ChooseDriverDeps): Promise<ChosenDriver> {
  const credentials = await createCredentials(loadKubeConfig(environment));
  const client = createKubeClient({ credentials, fieldManager: FIELD_MANAGER, timeoutMs: CALL_MS });
  const { DRAIN_FLAG: configMap } = config;
  const driver = createKubernetesDriver({
    client,
    watch: createWatch(credentials),
    type: USERSWARMS,
    settings: {
      namespace: config.RUNTIME_NAMESPACE,
      envSecret: config.RUNTIME_ENV_SECRET === '' ? undefined : config.RUNTIME_ENV_SECRET,
      defaultProvider: config.RUNTIME_DEFAULT_PROVIDER,
      defaultModel: config.RUNTIME_DEFAULT_MODEL,
    },
    drain: configMap && createDrainFlag({ client, configMap, clock: systemClock }),
    logger,
  });
  return {
    driver,
    async close() {
      await driver.close();
      await credentials.close();
    },
  };
}

async function openProcessDriver(deps: ChooseDriverDeps): Promise<ChosenDriver> {
  const { config, environment, runtimeProcesses, pool, ownsRuntimes, logger } = deps;
  const { RUNTIME_PROGRAM: program } = config;
  if (program === undefined) throw new Error('RUNTIME_PROGRAM is required with RUNTIME_DRIVER=process');
  const driver = createProcessDriver({
    store: runtimeProcesses,
    program,
    environment: runtimeEnvironment({
      callPrivateKey: config.CALL_PRIVATE_KEY,
      mcpEndpoint: config.SVC_MCP_ENDPOINT,
      modelGatewayUrl: config.MODEL_GATEWAY_URL,
      logLevel: config.LOG_LEVEL,
      environment,
    }),
    pool,
    logger,
    ...(config.RUNTIME_LOG_DIRECTORY === undefined ? {} : { logDirectory: config.RUNTIME_LOG_DIRECTORY }),
  });
  // Runtimes that a killed orchestrator left behind have old code and old settings.
  if (ownsRuntimes) await driver.stopAll();
  return {
    driver,
    async close() {
      if (ownsRuntimes) await driver.stopAll();
    },
  };
}
