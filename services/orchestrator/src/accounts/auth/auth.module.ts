import type { Clock, Logger, Registry, SecurityLog } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import { createApiTokens } from './api-tokens.js';
import { createAuthMetrics } from './auth-metrics.js';
import { type AuthenticatorDeps, createAuthenticator } from './authenticator.js';
import type { IdentityHash } from './identity-hash.js';
import { type IssuerAccess, tokenIssuer } from './issuer-tokens.js';
import { createOidcVerifier } from './oidc-verifier.js';
import { createSignatureCheck, noSignatureCheck } from './signature.js';

export interface AuthModuleDeps {
  config: OrchestratorConfig;
  connections: Pick<Connections, 'database' | 'withTransaction'>;
  users: AuthenticatorDeps['users'];
  devices: AuthenticatorDeps['devices'];
  identityHash: IdentityHash;
  security: SecurityLog;
  /** Undefined in production. */
  bypass: AuthenticatorDeps['bypass'] | undefined;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

export function createAuthModule(deps: AuthModuleDeps) {
  const { config, users, devices, identityHash, security, bypass, metrics, clock, logger } = deps;
  const { database, withTransaction } = deps.connections;
  const outgoing = createOutgoing(config.proxy);
  const issuers = config.OIDC_ISSUERS.map((settings) => tokenIssuer(settings.id ?? settings.issuer, settings));
  const authMetrics = createAuthMetrics(metrics, [
    ...issuers.map(({ id }) => id),
    ...config.OPERATOR_ISSUERS.map(({ issuer }) => issuer),
  ]);
  const issuerAccess: IssuerAccess = {
    outgoing,
    onFetch: authMetrics.fetchedKeys,
    cooldownMs: config.OIDC_JWKS_COOLDOWN_MS,
    clockToleranceS: config.OIDC_CLOCK_TOLERANCE_S,
    allowHttp: config.OIDC_ALLOW_HTTP,
  };
  const authenticator = createAuthenticator({
    verifier: authMetrics.measure(createOidcVerifier({ ...issuerAccess, issuers })),
    signature:
      config.SIGNATURE_MODE === 'required'
        ? createSignatureCheck([config.SIGNATURE_SECRET ?? '', ...config.SIGNATURE_SECRET_PREVIOUS], clock)
        : noSignatureCheck,
    database,
    users,
    apiTokens: createApiTokens({ database, withTransaction, logger }),
    devices,
    identityHash,
    security,
    ...(bypass === undefined ? {} : { bypass }),
  });
  return { authenticator, issuerAccess, close: outgoing.destroy };
}
