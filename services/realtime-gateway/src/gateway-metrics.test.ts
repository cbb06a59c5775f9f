import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { createMemoryBus } from '@uswarm/event-bus';
import { createMetrics, Registry } from '@uswarm/service-kit';
import { documentedMetrics, metricsIn } from '@uswarm/testkit';
import { createGatewayMetrics, disconnectReason, outcomeOf, registerBus } from './gateway-metrics.js';

describe('the metrics of the gateway', () => {
  it('are those that docs/metrics.md has', () => {
    const registry = createMetrics('realtime-gateway');
    createGatewayMetrics(registry);
    registerBus(registry, createMemoryBus());
    expect(metricsIn(registry)).toEqual(documentedMetrics('realtime-gateway'));
  });

  it('report whether the bus is reachable', async () => {
    const registry = new Registry();
    let stands = true;
    registerBus(registry, { healthy: () => stands });
    expect(await registry.metrics()).toContain('uswarm_event_bus_up 1');
    stands = false;
    expect(await registry.metrics()).toContain('uswarm_event_bus_up 0');
  });

  it('count as failed what the client did not cause', () => {
    const errors = [new ApiError('rate_limited'), new ApiError('service_unavailable'), new Error('a bug')];
    expect(errors.map(outcomeOf)).toEqual(['refused', 'failed', 'failed']);
  });

  it('have no reason that a client made up', () => {
    expect(['ping timeout', 'because'].map(disconnectReason)).toEqual(['ping timeout', 'other']);
  });
});
