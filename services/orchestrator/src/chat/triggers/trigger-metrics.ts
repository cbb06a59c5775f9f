import { ApiError, type ErrorCode } from '@uswarm/contract';
import { initializedCounter, type Registry } from '@uswarm/service-kit';

const OUTCOMES = {
  trigger_not_found: 'unknown',
  triggers_not_enabled: 'unknown',
  trigger_paused: 'paused',
  trigger_queue_full: 'queue_full',
  trigger_signature_invalid: 'signature',
  rate_limited: 'rate_limited',
} as const satisfies Partial<Record<ErrorCode, string>>;

export interface TriggerMetrics {
  accepted(outcome: 'accepted' | 'repeated' | 'ping'): void;
  refused(error: unknown): void;
}

export function createTriggerMetrics(registry: Registry): TriggerMetrics {
  const requests = initializedCounter(
    registry,
    'uswarm_trigger_requests_total',
    'Requests to trigger URLs by outcome.',
    { outcome: ['accepted', 'repeated', 'ping', ...new Set(Object.values(OUTCOMES)), 'failed'] },
  );
  return {
    accepted: (outcome) => requests.inc({ outcome }),
    refused(error) {
      const known: Partial<Record<string, string>> = OUTCOMES;
      requests.inc({ outcome: (error instanceof ApiError ? known[error.code] : undefined) ?? 'failed' });
    },
  };
}
