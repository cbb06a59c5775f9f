import { IntegrationProvider } from '@uswarm/contract';
import { initializedCounter, type Registry } from '@uswarm/service-kit';
import type { OAuthFailureKind } from './oauth-answer.js';

/** `gone`: the user has to connect again; `refused`, `sealed`: an operator has to do something. */
export type RefreshOutcome = 'renewed' | OAuthFailureKind | 'sealed';

export interface IntegrationMetrics {
  refreshed(provider: string, outcome: RefreshOutcome): void;
}

export function createIntegrationMetrics(registry: Registry): IntegrationMetrics {
  const refreshes = initializedCounter(
    registry,
    'uswarm_integration_refreshes_total',
    'Attempts to renew the tokens of a connection to another app, by how they went.',
    {
      provider: IntegrationProvider.options,
      outcome: ['renewed', 'gone', 'refused', 'unavailable', 'sealed'] satisfies RefreshOutcome[],
    },
  );
  return { refreshed: (provider, outcome) => refreshes.inc({ provider, outcome }) };
}
