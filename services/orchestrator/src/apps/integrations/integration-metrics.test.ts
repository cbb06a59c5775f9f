import { expect, it } from '@jest/globals';
import { Registry } from '@uswarm/service-kit';
import { createIntegrationMetrics } from './integration-metrics.js';

it("counts renewals of operators' servers, and none that a server of a user causes", async () => {
  const registry = new Registry();
  const metrics = createIntegrationMetrics(registry);
  metrics.refreshed('mcp:linear', 'refused');
  metrics.refreshed('mcp:own_abcd1234', 'refused');
  const text = await registry.metrics();
  expect(text).toContain('uswarm_integration_refreshes_total{provider="mcp:linear",outcome="refused"} 1');
  expect(text).not.toContain('own_abcd1234');
});
