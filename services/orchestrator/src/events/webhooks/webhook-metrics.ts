import { WebhookFailure } from '@uswarm/contract';
import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { Histogram } from 'prom-client';

type Outcome = 'delivered' | WebhookFailure;

export interface WebhookMetrics {
  attempted(outcome: Outcome): void;
  /** @param seconds from the transaction that stored the event */
  delivered(seconds: number): void;
}

export function createWebhookMetrics(registry: Registry): WebhookMetrics {
  const attempts = initializedCounter(
    registry,
    'uswarm_webhook_attempts_total',
    "Requests to users' webhooks by outcome.",
    {
      outcome: ['delivered', ...WebhookFailure.options],
    },
  );
  const lag = new Histogram({
    name: 'uswarm_webhook_lag_seconds',
    help: 'Time from the transaction that stored an event until a webhook has accepted it.',
    buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3_600, 86_400],
    registers: [registry],
  });
  return {
    attempted: (outcome) => attempts.inc({ outcome }),
    delivered: (seconds) => lag.observe(seconds),
  };
}
