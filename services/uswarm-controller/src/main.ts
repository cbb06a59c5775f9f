import { hostname } from 'node:os';
import { loadKubeConfig } from '@uswarm/kube-client';
import { createLogger, createMetrics, runService, startOpsServer } from '@uswarm/service-kit';
import { loadControllerConfig } from './config.js';
import { createController } from './controller.js';
import { rolloutInitialDelayMs } from './rollout/initial-delay.js';

const service = 'uswarm-controller';
const logger = createLogger({ service, level: process.env['LOG_LEVEL'] || 'info' });

await runService({ logger }, async (stack) => {
  const config = loadControllerConfig(process.env);
  const registry = createMetrics(service);
  const controller = await createController({
    kubeConfig: loadKubeConfig(process.env),
    hook: { url: config.SYNC_URL, token: config.SYNC_TOKEN, timeoutMs: config.SYNC_TIMEOUT_MS },
    runtimeNamespaces: config.RUNTIME_NAMESPACES,
    resyncS: config.RESYNC_S,
    workers: config.WORKERS,
    rollout: {
      maxConcurrent: config.ROLLOUT_MAX_CONCURRENT,
      deadlineS: config.ROLLOUT_DEADLINE_S,
      forcedBefore: config.ROLLOUT_FORCED_BEFORE,
      maxFailures: config.ROLLOUT_MAX_FAILURES,
    },
    rolloutInitialDelayMs: rolloutInitialDelayMs(config.RESYNC_S),
    maxConcurrentStarts: config.START_MAX_CONCURRENT,
    lease: config.LEADER_ELECTION ? { namespace: config.LEASE_NAMESPACE ?? '', name: config.LEASE_NAME } : undefined,
    identity: config.POD_NAME ?? hostname(),
    eventsNamespace: config.EVENTS_NAMESPACE,
    logger,
    registry,
  });
  stack.defer('controller', () => controller.stop());

  const ops = await startOpsServer({ metrics: registry, ready: () => controller.ready(), port: config.OPS_PORT });
  stack.defer('operations server', () => ops.close());
  logger.info(
    { ops_port: ops.port, hook: config.SYNC_URL, namespaces: config.RUNTIME_NAMESPACES },
    'watching UserSwarms',
  );
});
