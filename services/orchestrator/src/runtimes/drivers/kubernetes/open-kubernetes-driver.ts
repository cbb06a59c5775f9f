import { createCredentials, createKubeClient, createWatch, loadKubeConfig } from '@uswarm/kube-client';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { type Logger, systemClock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../../config.js';
import type { ChosenDriver } from '../driver.js';
import { createDrainFlag } from './drain-flag.js';
import { createKubernetesDriver } from './kubernetes-driver.js';
import { FIELD_MANAGER } from './userswarm-apply.js';

const CALL_MS = 10_000;

export interface OpenKubernetesDriverDeps {
  config: OrchestratorConfig;
  environment: Record<string, string | undefined>;
  logger: Logger;
}

/** @throws ConfigError if the environment names no cluster */
export async function openKubernetesDriver(deps: OpenKubernetesDriverDeps): Promise<ChosenDriver> {
  const { config, environment, logger } = deps;
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
    reportsStarting: config.CALL_STARTING_RUNTIMES,
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
