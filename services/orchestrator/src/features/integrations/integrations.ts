import { randomBytes } from 'node:crypto';
import type { Clock, Logger, Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { WithTransaction } from '../../database/database.js';
import type { JobWorkerDeps } from '../../jobs/job-worker.js';
import type { JobStore } from '../../jobs/job-store.js';
import type { Assets } from '../core/assets.js';
import type { AuditStore } from '../admin/audit.store.js';
import { loadIntegrationCatalog, withImages } from './catalog.js';
import { createIntegrationMetrics } from './integration-metrics.js';
import { integrationHandlers } from './integrations.routes.js';
import { createIntegrationService, type IntegrationService } from './integrations.service.js';
import type { IntegrationStore } from './integrations.store.js';
import { createOAuthClient } from './oauth-client.js';
import { createOAuthStates } from './oauth-states.js';
import { createProviderClients } from './provider-clients.js';
import { createTokenReencryption, TOKEN_REENCRYPTION_ID, TOKEN_REENCRYPTION_JOB } from './token-reencryption.js';
import { createTokenCipher, type TokenCipher } from './token-cipher.js';
import { createTokenRefresh, REFRESH_JOB } from './token-refresh.js';
import { createTokenRevocation, REVOCATION_JOB } from './token-revocation.js';

export interface IntegrationsDeps {
  config: Pick<OrchestratorConfig, 'INTEGRATION_PROVIDERS' | 'INTEGRATION_TOKEN_KEYS' | 'INTEGRATION_CATALOG_FILE'>;
  assets: Pick<Assets, 'url'>;
  /** The same in all replicas; signs the states of OAuth flows. */
  stateSecret: string;
  stores: { integrations: IntegrationStore; jobs: JobStore; audit: AuditStore };
  withTransaction: WithTransaction;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

/** Everything about integrations, wired together. */
export interface Integrations extends Pick<IntegrationService, 'revokeAll' | 'accessToken'> {
  handlers: ReturnType<typeof integrationHandlers>;
  /** Handlers of work, by kind. */
  upkeep: Record<string, JobWorkerDeps['handle']>;
  close(): Promise<void>;
}

export async function createIntegrations(deps: IntegrationsDeps): Promise<Integrations> {
  const { config, stores, withTransaction, clock, logger } = deps;
  const { integrations: store, jobs, audit } = stores;
  const cipher = cipherOf(config);
  const clients = createProviderClients(config.INTEGRATION_PROVIDERS);
  const oauth = createOAuthClient();
  const metrics = createIntegrationMetrics(deps.metrics);
  const shared = { withTransaction, store, jobs, clients, oauth, cipher, metrics, clock, logger };
  const service = createIntegrationService({
    ...shared,
    audit,
    states: createOAuthStates({ secret: deps.stateSecret, clock }),
    catalog: withImages(loadIntegrationCatalog(config.INTEGRATION_CATALOG_FILE), deps.assets.url),
  });
  if (config.INTEGRATION_TOKEN_KEYS !== undefined) {
    // This start may be the one after a new key was put in front.
    const rekeying = {
      kind: TOKEN_REENCRYPTION_JOB,
      subjectId: TOKEN_REENCRYPTION_ID,
      workspaceId: TOKEN_REENCRYPTION_ID,
    };
    await withTransaction((tx) => jobs.enqueue(rekeying, tx));
  }
  return {
    handlers: integrationHandlers(service),
    revokeAll: service.revokeAll,
    accessToken: service.accessToken,
    upkeep: {
      [REFRESH_JOB]: createTokenRefresh(shared),
      [REVOCATION_JOB]: createTokenRevocation(shared),
      [TOKEN_REENCRYPTION_JOB]: createTokenReencryption(shared),
    },
    close: oauth.close,
  };
}

/** Without a key nothing can be connected, and a key of this process alone encrypts that nothing. */
function cipherOf({ INTEGRATION_TOKEN_KEYS: [first, ...others] = [] }: IntegrationsDeps['config']): TokenCipher {
  return createTokenCipher([first ?? { id: 'none', key: randomBytes(32) }, ...others]);
}
