import { expect, it } from '@jest/globals';
import { createMetrics, silentLogger } from '@uswarm/service-kit';
import { documentedMetrics, metricsIn } from '@uswarm/testkit';
import { startScriptedApi } from '@uswarm/testkit/scripted-api';
import { createController } from './controller.js';

it('documents exactly the metrics of the controller in docs/metrics.md', async () => {
  const api = await startScriptedApi();
  const registry = createMetrics('uswarm-controller');
  const controller = await createController({
    kubeConfig: api.config,
    hook: { url: 'http://127.0.0.1:1/sync' },
    runtimeNamespaces: ['userswarms'],
    identity: 'pod-1',
    logger: silentLogger,
    registry,
  });
  await controller.stop();
  await api.close();
  expect(metricsIn(registry)).toEqual(documentedMetrics('uswarm-controller'));
});
