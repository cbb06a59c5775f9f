import { PushService } from '@uswarm/contract';
import { initializedCounter, type Registry } from '@uswarm/service-kit';

/** `expired`: the message was too old to be announced. The others are results of one attempt for one device. */
export type PushOutcome = 'sent' | 'unregistered' | 'rejected' | 'retried' | 'expired';

export interface PushMetrics {
  ended(kind: 'notification' | 'withdrawal', service: PushService, outcome: PushOutcome): void;
}

export function createPushMetrics(registry: Registry): PushMetrics {
  const counters = {
    notification: initializedCounter(
      registry,
      'uswarm_push_notifications_total',
      'Total attempts to send a push notification to a device, by service and outcome.',
      {
        service: PushService.options,
        outcome: ['sent', 'unregistered', 'rejected', 'retried', 'expired'] satisfies PushOutcome[],
      },
    ),
    withdrawal: initializedCounter(
      registry,
      'uswarm_push_withdrawals_total',
      'Total attempts to remove notifications from a device, by service and outcome.',
      {
        service: PushService.options,
        outcome: ['sent', 'unregistered', 'rejected', 'retried'] satisfies PushOutcome[],
      },
    ),
  };
  return { ended: (kind, service, outcome) => counters[kind].inc({ service, outcome }) };
}
