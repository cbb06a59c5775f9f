import { initializedCounter, type Registry } from '@uswarm/service-kit';

/** `expired`: the message was too old to be announced. The others are results of one attempt for one device. */
export type PushOutcome = 'sent' | 'unregistered' | 'rejected' | 'retried' | 'expired';

export interface PushMetrics {
  ended(outcome: PushOutcome): void;
}

export function createPushMetrics(registry: Registry): PushMetrics {
  const notifications = initializedCounter(
    registry,
    'uswarm_push_notifications_total',
    'Total attempts to send a push notification to a device, by outcome.',
    { outcome: ['sent', 'unregistered', 'rejected', 'retried', 'expired'] satisfies PushOutcome[] },
  );
  return { ended: (outcome) => notifications.inc({ outcome }) };
}
