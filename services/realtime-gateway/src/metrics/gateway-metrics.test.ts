import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { createMemoryBus } from '@uswarm/event-bus';
import { createMetrics, createServiceCredential, Registry, silentLogger } from '@uswarm/service-kit';
import { documentedMetrics, metricsIn } from '@uswarm/testkit';
import { createGatewayMetrics, disconnectReason, outcomeOf, registerBus } from './gateway-metrics.js';

describe('gateway metrics', () => {
  it('docs/metrics.md documents exactly the metrics of the gateway', () => {
    const registry = createMetrics('realtime-gateway');
    createGatewayMetrics(registry);
    registerBus(registry, createMemoryBus());
    createServiceCredential(async () => undefined, { setting: 'INTERNAL_API_KEY', registry, logger: silentLogger });
    expect(metricsIn(registry)).toEqual(documentedMetrics('realtime-gateway'));
  });

  it('uswarm_event_bus_up reports whether the bus is healthy', async () => {
    const registry = new Registry();
    let healthy = true;
    registerBus(registry, { healthy: () => healthy });
    expect(await registry.metrics()).toContain('uswarm_event_bus_up 1');
    healthy = false;
    expect(await registry.metrics()).toContain('uswarm_event_bus_up 0');
  });

  it('outcomeOf returns failed for errors that the client did not cause', () => {
    const errors = [new ApiError('rate_limited'), new ApiError('service_unavailable'), new Error('a bug')];
    expect(errors.map(outcomeOf)).toEqual(['refused', 'failed', 'failed']);
  });

  it('disconnectReason replaces unknown reasons with other', () => {
    expect(['ping timeout', 'because'].map(disconnectReason)).toEqual(['ping timeout', 'other']);
  });
});
