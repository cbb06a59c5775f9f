import { initializedCounter, type Registry } from '@uswarm/service-kit';
import { serverOfKey } from '../tool-servers/server-accounts.js';
import { isUserServerId } from '../tool-servers/user-server-id.js';
import type { OAuthFailureKind } from './oauth-answer.js';
import { PROVIDERS } from './providers.js';

/** `gone`: the user must reconnect. `refused`, `sealed`: an operator must act. */
export type RefreshOutcome = 'renewed' | OAuthFailureKind | 'sealed';

export interface IntegrationMetrics {
  refreshed(provider: string, outcome: RefreshOutcome): void;
}

export function createIntegrationMetrics(registry: Registry): IntegrationMetrics {
  const refreshes = initializedCounter(
    registry,
    'uswarm_integration_refreshes_total',
    'Total token refreshes of integrations by outcome.',
    {
      provider: Object.keys(PROVIDERS),
      outcome: ['renewed', 'gone', 'refused', 'unavailable', 'sealed'] satisfies RefreshOutcome[],
    },
  );
  return {
    refreshed(provider, outcome) {
      // A server that a user has added could otherwise raise an alert that no operator can resolve.
      if (!isUserServerId(serverOfKey(provider) ?? '')) refreshes.inc({ provider, outcome });
    },
  };
}
