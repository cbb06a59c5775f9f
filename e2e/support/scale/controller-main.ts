import { USERSWARMS } from '@uswarm/contract/userswarm';
import { createController } from '@uswarm/controller';
import { createLogger, createMetrics, loadConfig, port, runService, startOpsServer } from '@uswarm/service-kit';
import { z } from 'zod';
import { loadKubeConfig } from '../kube-api.js';
import { impersonating } from './api.js';

// Runs the controller as a separate process for another API group and as a separate user, so that it does not conflict
// with a release and its requests can be identified in the audit log.
const Environment = z.object({
  SCALE_KUBECONFIG: z.string().min(1),
  SCALE_CONTEXT: z.string().min(1),
  SCALE_USER: z.string().min(1),
  SCALE_GROUP: z.string().min(1),
  SCALE_NAMESPACE: z.string().min(1),
  /** Seconds. */
  SCALE_RESYNC: z.coerce.number().int().min(1),
  SYNC_URL: z.url(),
  SYNC_TOKEN: z.string().min(1),
  OPS_PORT: port,
});

const service = 'uswarm-controller';
const logger = createLogger({ service });

await runService({ logger }, async (stack) => {
  const config = loadConfig(Environment, process.env);
  const registry = createMetrics(service);
  const target = loadKubeConfig({ kubeconfig: config.SCALE_KUBECONFIG, context: config.SCALE_CONTEXT });
  const controller = await createController({
    kubeConfig: impersonating(target, config.SCALE_USER),
    hook: { url: config.SYNC_URL, token: config.SYNC_TOKEN },
    runtimeNamespaces: [config.SCALE_NAMESPACE],
    resource: { ...USERSWARMS, group: config.SCALE_GROUP },
    resyncS: config.SCALE_RESYNC,
    // The start limiter is not measured.
    maxConcurrentStarts: 0,
    identity: config.SCALE_USER,
    logger,
    registry,
  });
  stack.defer('controller', () => controller.stop());
  const ops = await startOpsServer({
    metrics: registry,
    ready: () => controller.ready(),
    host: '127.0.0.1',
    port: config.OPS_PORT,
  });
  stack.defer('operations server', () => ops.close());
});
