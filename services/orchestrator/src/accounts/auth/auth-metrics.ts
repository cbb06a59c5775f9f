import { ApiError } from '@uswarm/contract';
import { initializedCounter, type Registry } from '@uswarm/service-kit';
import type { IdentityVerifier } from './oidc-verifier.js';

export interface AuthMetrics {
  fetchedKeys(issuer: string, answered: boolean): void;
  /** Wraps a verifier to count its results. */
  measure(verifier: IdentityVerifier): IdentityVerifier;
}

/** @param issuers configured names, used as label values */
export function createAuthMetrics(registry: Registry, issuers: readonly string[]): AuthMetrics {
  const fetches = initializedCounter(
    registry,
    'uswarm_jwks_fetches_total',
    'Total fetches of the discovery document and keys of an identity provider by outcome.',
    { issuer: issuers, outcome: ['ok', 'failed'] },
  );
  const checks = initializedCounter(
    registry,
    'uswarm_token_checks_total',
    'ID tokens by outcome: accepted, refused, or failed because the provider was unavailable.',
    { outcome: ['accepted', 'refused', 'failed'] },
  );
  return {
    fetchedKeys: (issuer, answered) => fetches.inc({ issuer, outcome: answered ? 'ok' : 'failed' }),
    measure: (verifier) => ({
      async verify(token) {
        try {
          const identity = await verifier.verify(token);
          checks.inc({ outcome: 'accepted' });
          return identity;
        } catch (error) {
          checks.inc({ outcome: error instanceof ApiError && error.status < 500 ? 'refused' : 'failed' });
          throw error;
        }
      },
    }),
  };
}
