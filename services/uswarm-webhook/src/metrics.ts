import { Counter, Histogram, type Registry } from 'prom-client';

export type SyncOutcome = 'ok' | 'unauthorized' | 'bad_request' | 'error';

export interface WebhookMetrics {
  answered(outcome: SyncOutcome, seconds: number): void;
  rendered(phase: string, reason: string): void;
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const requests = new Counter({
    name: 'uswarm_webhook_sync_requests_total',
    help: 'Sync requests by how they ended.',
    labelNames: ['outcome'],
    registers: [registry],
  });
  const duration = new Histogram({
    name: 'uswarm_webhook_sync_duration_seconds',
    help: 'Seconds from the head of a sync request to its answer.',
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers: [registry],
  });
  // Not a gauge of UserSwarms: the webhook remembers none. The controller has that one.
  const renderings = new Counter({
    name: 'uswarm_webhook_renderings_total',
    help: 'Answers by the phase and reason they gave.',
    labelNames: ['phase', 'reason'],
    registers: [registry],
  });
  return {
    answered(outcome, seconds) {
      requests.inc({ outcome });
      duration.observe(seconds);
    },
    rendered(phase, reason) {
      renderings.inc({ phase, reason });
    },
  };
}
