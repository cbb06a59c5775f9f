import type { Clock, Registry, SecurityLog } from '@uswarm/service-kit';
import { createOutgoing, type Outgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import type { Database } from '../../platform/database/database.js';
import { createAuthMetrics } from './auth-metrics.js';
import { type AuthenticatorDeps, createAuthenticator } from './authenticator.js';
import type { IdentityHash } from './identity-hash.js';
import { createOidcVerifier } from './oidc-verifier.js';
import { createSignatureCheck, noSignatureCheck } from './signature.js';

export interface AuthModuleDeps {
  config: OrchestratorConfig;
  database: Database;
  users: AuthenticatorDeps['users'];
  devices: AuthenticatorDeps['devices'];
  identityHash: IdentityHash;
  security: SecurityLog;
  /** Undefined in production. */
  bypass: AuthenticatorDeps['bypass'] | undefined;
  metrics: Registry;
  clock: Clock;
}

export function createAuthModule(deps: AuthModuleDeps) {
  const { config, database, users, devices, identityHash, security, bypass, metrics, clock } = deps;
  const outgoing = createOutgoing(config.proxy);
  const authenticator = createAuthenticator({
    verifier: createVerifier(config, outgoing, metrics),
    signature:
      config.SIGNATURE_MODE === 'required'
        ? createSignatureCheck([config.SIGNATURE_SECRET ?? '', ...config.SIGNATURE_SECRET_PREVIOUS], clock)
        : noSignatureCheck,
    database,
    users,
    devices,
    identityHash,
    security,
    ...(bypass === undefined ? {} : { bypass }),
  });
  return { authenticator, close: outgoing.destroy };
}

function createVerifier(config: OrchestratorConfig, outgoing: Outgoing, registry: Registry) {
  const issuers = config.OIDC_ISSUERS.map(({ id, issuer, audience, authorized_parties, jwks_uri, algorithms }) => ({
    id: id ?? issuer,
    issuer,
    audience,
    ...(authorized_parties === undefined ? {} : { authorizedParties: authorized_parties }),
    ...(jwks_uri === undefined ? {} : { jwksUri: jwks_uri }),
    ...(algorithms === undefined ? {} : { algorithms }),
  }));
  const metrics = createAuthMetrics(
    registry,
    issuers.map(({ id }) => id),
  );
  const verifier = createOidcVerifier({
    issuers,
    outgoing,
    onFetch: metrics.fetchedKeys,
    cooldownMs: config.OIDC_JWKS_COOLDOWN_MS,
    clockToleranceS: config.OIDC_CLOCK_TOLERANCE_S,
    allowHttp: config.OIDC_ALLOW_HTTP,
  });
  return metrics.measure(verifier);
}
