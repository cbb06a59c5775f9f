import { ApiError } from '@uswarm/contract';
import { initializedCounter, type Registry } from '@uswarm/service-kit';
import type { IdentityVerifier } from './oidc-verifier.js';

/** What is counted of identity providers and their tokens. */
export interface AuthMetrics {
  lookedUpKeys(issuer: string, answered: boolean): void;
  /** The same verifier, counted. */
  measure(verifier: IdentityVerifier): IdentityVerifier;
}

/** @param issuers by the names that are configured */
export function createAuthMetrics(registry: Registry, issuers: readonly string[]): AuthMetrics {
  const lookUps = initializedCounter(
    registry,
    'uswarm_jwks_fetches_total',
    'Look-ups of the keys of an identity provider, its discovery document included.',
    { issuer: issuers, outcome: ['ok', 'failed'] },
  );
  const checks = initializedCounter(
    registry,
    'uswarm_token_checks_total',
    'ID tokens by outcome: accepted, refused, or failed because the provider was unavailable.',
    { outcome: ['accepted', 'refused', 'failed'] },
  );
  return {
    lookedUpKeys: (issuer, answered) => lookUps.inc({ issuer, outcome: answered ? 'ok' : 'failed' }),
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
