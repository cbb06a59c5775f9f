import { expect, it } from '@jest/globals';
import { createMetrics, createServiceCredential, silentLogger } from '@uswarm/service-kit';
import { documentedMetrics, metricsIn } from '@uswarm/testkit';
import { createModelGatewayMetrics } from './metrics.js';

it('docs/metrics.md has every metric of the model gateway, and no other', () => {
  const registry = createMetrics('model-gateway');
  createModelGatewayMetrics(registry).watchPending(() => 0);
  createServiceCredential(async () => undefined, { setting: 'MODEL_CALLS_KEY', registry, logger: silentLogger });
  expect(metricsIn(registry)).toEqual(documentedMetrics('model-gateway'));
});
