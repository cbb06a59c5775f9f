import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Histogram } from 'prom-client';

export interface RelayMetrics {
  /** @param seconds from the transaction that wrote the event */
  published(seconds: number): void;
  failed(): void;
}

export function createRelayMetrics(registry: Registry): RelayMetrics {
  const lag = new Histogram({
    name: 'uswarm_relay_lag_seconds',
    help: 'Time from the transaction that stored an event until its publication.',
    buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    registers: [registry],
  });
  const failures = initializedCounter(
    registry,
    'uswarm_relay_failures_total',
    'Total rounds that failed to read or publish events. Failed rounds are retried.',
    {},
  );
  return { published: (seconds) => lag.observe(seconds), failed: () => failures.inc() };
}
