import { expect, it } from '@jest/globals';
import { createMetrics, Registry } from '@uswarm/service-kit';
import { documentedMetrics, metricsIn } from '@uswarm/testkit';
import { createWebhookMetrics, registerDatabaseState } from './metrics.js';
import type { DatabaseState } from './render/settings.js';

it('docs/metrics.md documents exactly the metrics of the webhook', () => {
  const registry = createMetrics('uswarm-webhook');
  createWebhookMetrics(registry);
  registerDatabaseState(registry, () => 'unset');
  expect(metricsIn(registry)).toEqual(documentedMetrics('uswarm-webhook'));
});

it('uswarm_webhook_database_state is 1 for exactly one of three states', async () => {
  const registry = new Registry();
  let state: DatabaseState = 'unset';
  registerDatabaseState(registry, () => state);
  for (state of ['unset', 'reachable', 'unreachable'] as const) {
    const lines = (await registry.metrics()).split('\n').filter((line) => line.startsWith('uswarm'));
    expect(lines.filter((line) => line.endsWith(' 1'))).toEqual([`uswarm_webhook_database_state{state="${state}"} 1`]);
    expect(lines).toHaveLength(3);
  }
});
