import type { Clock } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import { createIdentityHash, type IdentityHash } from '../auth/identity-hash.js';
import type { SessionRevocationPublisher } from '../auth/session-revocation-publisher.js';
import type { IntegrationService } from '../../apps/integrations/integrations.service.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import type { Provision } from '../../workspaces/provision.js';
import { accountHandlers } from './account.routes.js';
import { createAccountService } from './account.service.js';
import { createUsagePruning, USAGE_PRUNING, USAGE_PRUNING_JOB } from './usage-pruning.js';

export interface AccountModuleDeps {
  config: Pick<
    OrchestratorConfig,
    'IDENTITY_HASH_KEY_PREVIOUS' | 'SIGN_UPS_AFTER_DELETION_PER_DAY' | 'DELETION_MAX_AUTH_AGE_S'
  >;
  connections: Pick<Connections, 'database' | 'withTransaction' | 'jobs' | 'events'>;
  runtimes: RuntimeRequests;
  integrations: Pick<IntegrationService, 'revokeAll'>;
  sessionEnds: SessionRevocationPublisher;
  provision: Provision;
  identityHash: IdentityHash;
  clock: Clock;
}

export function createAccountModule(deps: AccountModuleDeps) {
  const { config, runtimes, integrations, sessionEnds, clock } = deps;
  const { database, withTransaction, jobs, events } = deps.connections;
  const service = createAccountService({
    withTransaction,
    database,
    events,
    jobs,
    runtimes,
    provision: deps.provision,
    integrations,
    sessionEnds,
    identityHash: deps.identityHash,
    previousIdentityHashes: config.IDENTITY_HASH_KEY_PREVIOUS.map(createIdentityHash),
    returnsPerDay: config.SIGN_UPS_AFTER_DELETION_PER_DAY,
    deletionMaxAuthAgeS: config.DELETION_MAX_AUTH_AGE_S,
    clock,
  });
  const pruning: JobDefinition = {
    type: USAGE_PRUNING_JOB,
    handle: createUsagePruning({ database, clock }),
    atStart: USAGE_PRUNING,
  };
  return { service, routes: accountHandlers(service), jobs: [pruning] };
}
