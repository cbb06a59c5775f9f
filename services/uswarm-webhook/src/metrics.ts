import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { DatabaseState } from './render/settings.js';

export type SyncOutcome = 'ok' | 'unauthorized' | 'bad_request' | 'error';

export interface WebhookMetrics {
  observeRequest(outcome: SyncOutcome, seconds: number): void;
  observeRendering(phase: string, reason: string): void;
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const requests = initializedCounter(
    registry,
    'uswarm_webhook_sync_requests_total',
    'Total sync requests by outcome.',
    {
      outcome: ['ok', 'unauthorized', 'bad_request', 'error'] satisfies SyncOutcome[],
    },
  );
  const duration = new Histogram({
    name: 'uswarm_webhook_sync_duration_seconds',
    help: 'Duration of a sync request in seconds.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [registry],
  });
  // Not a gauge of UserSwarms, because the webhook is stateless. The controller exports that gauge.
  const renderings = new Counter({
    name: 'uswarm_webhook_renderings_total',
    help: 'Total responses by phase and reason.',
    labelNames: ['phase', 'reason'],
    registers: [registry],
  });
  return {
    observeRequest(outcome, seconds) {
      requests.inc({ outcome });
      duration.observe(seconds);
    },
    observeRendering(phase, reason) {
      renderings.inc({ phase, reason });
    },
  };
}

const STATES: readonly DatabaseState[] = ['unset', 'reachable', 'unreachable'];

export function registerDatabaseState(registry: Registry, state: () => DatabaseState): void {
  const gauge: Gauge<'state'> = new Gauge({
    name: 'uswarm_webhook_database_state',
    help: '1 for the last observed state of the runtime database, else 0; unset: no database is configured.',
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const each of STATES) gauge.set({ state: each }, each === state() ? 1 : 0);
    },
  });
}
