import type { EventBus } from '@uswarm/event-bus';
import type { Clock, SecurityLog } from '@uswarm/service-kit';
import type { Router } from 'express';
import type { WithTransaction } from './database/database.js';
import { accountHandlers } from './features/account/account.routes.js';
import { createAccountService } from './features/account/account.service.js';
import { createAdminRouter } from './features/admin/admin.routes.js';
import { createOperators } from './features/admin/operators.js';
import { createAdminService } from './features/admin/admin.service.js';
import { createRequeue } from './features/admin/requeue.service.js';
import { createAuthMetrics } from './features/auth/auth-metrics.js';
import { type Authenticator, createAuthenticator } from './features/auth/authenticator.js';
import { createIdentityHash, type IdentityHash } from './features/auth/identity-hash.js';
import { createOidcVerifier } from './features/auth/oidc-verifier.js';
import { createSessionRevocationPublisher } from './features/auth/session-revocation-publisher.js';
import { createSignatureCheck, noSignatureCheck } from './features/auth/signature.js';
import { deviceHandlers } from './features/devices/devices.routes.js';
import { createDeviceService } from './features/devices/devices.service.js';
import type { IntegrationService } from './features/integrations/integrations.service.js';
import { legalHandlers } from './features/legal/legal.routes.js';
import { createLegalService } from './features/legal/legal.service.js';
import type { Plans } from './features/plans/plans.js';
import type { RuntimeRequests } from './features/runtimes/runtime-requests.js';
import { usageHandlers } from './features/usage/usage.routes.js';
import { createUsageService } from './features/usage/usage.service.js';
import { userHandlers } from './features/users/users.routes.js';
import { createUserService } from './features/users/users.service.js';
import type { Provision } from './features/workspaces/provision.js';
import type { OrchestratorOptions } from './orchestrator.js';
import type { Stores } from './stores.js';

export interface PeopleDeps extends Pick<OrchestratorOptions, 'config' | 'logger' | 'metrics' | 'bypass'> {
  bus: Pick<EventBus, 'publishSessionEnd'>;
  stores: Stores;
  withTransaction: WithTransaction;
  runtimes: RuntimeRequests;
  provision: Provision;
  integrations: Pick<IntegrationService, 'revokeAll'>;
  plans: Plans;
  clock: Clock;
  identityHash: IdentityHash;
  security: SecurityLog;
  sourceName: (address: string) => string;
}

export interface People {
  authenticator: Authenticator;
  handlers: ReturnType<typeof accountHandlers> &
    ReturnType<typeof userHandlers> &
    ReturnType<typeof legalHandlers> &
    ReturnType<typeof deviceHandlers> &
    ReturnType<typeof usageHandlers>;
  /** Undefined where nobody has a key for it. */
  adminRouter: Router | undefined;
}

/** Everything about those who call: accounts, sessions, devices, legal documents, usage, operators. */
export function createPeople(deps: PeopleDeps): People {
  const { config, stores, withTransaction, runtimes, plans, clock, logger } = deps;
  const sessionEnds = createSessionRevocationPublisher(deps.bus);
  const accounts = createAccountService({
    ...stores,
    withTransaction,
    runtimes,
    integrations: deps.integrations,
    sessionEnds,
    provision: deps.provision,
    identityHash: deps.identityHash,
    previousIdentityHashes: config.IDENTITY_HASH_KEY_PREVIOUS.map(createIdentityHash),
    returnsPerDay: config.SIGN_UPS_AFTER_DELETION_PER_DAY,
    deletionMaxAuthAgeS: config.DELETION_MAX_AUTH_AGE_S,
    clock,
  });
  const devices = createDeviceService({ store: stores.devices, clock, logger });
  const authenticator = createAuthenticator({
    verifier: verifierOf(deps),
    signature:
      config.SIGNATURE_MODE === 'required'
        ? createSignatureCheck([config.SIGNATURE_SECRET ?? '', ...config.SIGNATURE_SECRET_PREVIOUS], clock)
        : noSignatureCheck,
    sessions: stores.sessions,
    users: { wasDeleted: accounts.wasDeleted, ensure: accounts.signUp },
    devices,
    identityHash: deps.identityHash,
    security: deps.security,
    ...(deps.bypass === undefined ? {} : { bypass: deps.bypass }),
  });
  const operators = createOperators(config);
  const admin = createAdminService({
    ...stores,
    withTransaction,
    store: stores.admin,
    plans,
    sessionEnds,
    requeue: createRequeue({ ...deps, audit: stores.audit, store: stores.requeue }),
    clock,
  });
  return {
    authenticator,
    handlers: {
      ...accountHandlers(accounts),
      ...userHandlers(createUserService({ store: stores.users, legal: stores.legal, plans, clock })),
      ...legalHandlers(createLegalService({ store: stores.legal })),
      ...deviceHandlers(devices),
      ...usageHandlers(createUsageService({ store: stores.usage, plans, clock })),
    },
    adminRouter: operators === undefined ? undefined : createAdminRouter({ ...deps, operators, service: admin }),
  };
}

function verifierOf({ config, metrics: registry }: Pick<PeopleDeps, 'config' | 'metrics'>) {
  const issuers = config.OIDC_ISSUERS.map(({ id, issuer, audience, jwks_uri, algorithms }) => ({
    id: id ?? issuer,
    issuer,
    audience,
    ...(jwks_uri === undefined ? {} : { jwksUri: jwks_uri }),
    ...(algorithms === undefined ? {} : { algorithms }),
  }));
  const metrics = createAuthMetrics(
    registry,
    issuers.map(({ id }) => id),
  );
  const verifier = createOidcVerifier({
    issuers,
    onLookUp: metrics.lookedUpKeys,
    cooldownMs: config.OIDC_JWKS_COOLDOWN_MS,
    clockToleranceS: config.OIDC_CLOCK_TOLERANCE_S,
    allowHttp: config.OIDC_ALLOW_HTTP,
  });
  return metrics.measure(verifier);
}
