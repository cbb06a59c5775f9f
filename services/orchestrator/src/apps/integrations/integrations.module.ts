import { randomBytes } from 'node:crypto';
import type { IntegrationItem } from '@uswarm/contract';
import { type Clock, ConfigError, type Logger, type Registry } from '@uswarm/service-kit';
import type { OrchestratorConfig } from '../../config.js';
import type { Connections } from '../../records/connections.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { Assets } from '../../platform/core/assets.js';
import { loadTools } from '../../platform/core/catalog.js';
import type { Database } from '../../platform/database/database.js';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import { createServerAccounts, serverOfKey } from '../tool-servers/server-accounts.js';
import { CONNECTION_LISTING_JOB } from '../tool-servers/connection-listing.js';
import { hostsOf } from '../tool-servers/tool-servers-file.js';
import type { ToolServers } from '../tool-servers/tool-servers.js';
import { isUserServerId } from '../tool-servers/user-server-id.js';
import { createAccessTokens } from './access-tokens.js';
import { loadIntegrationCatalog, missingToolCategories, withImages, withoutOtherTools } from './catalog.js';
import { createIntegrationMetrics } from './integration-metrics.js';
import { integrationHandlers, toolServerHandlers } from './integrations.routes.js';
import { createIntegrationService } from './integrations.service.js';
import { createOAuthClient } from './oauth-client.js';
import { createOAuthStates } from './oauth-states.js';
import { createProviderClients, type ProviderClients } from './provider-clients.js';
import { createTokenReencryption, TOKEN_REENCRYPTION_JOB, tokenReencryption } from './token-reencryption.js';
import { createTokenCipher, type TokenCipher } from './token-cipher.js';
import { createTokenRefresh, REFRESH_JOB } from './token-refresh.js';
import { createTokenRevocation, REVOCATION_JOB } from './token-revocation.js';
import { findUserServer } from '../../records/user-tool-servers.store.js';
import * as integrationRecords from '../../records/integrations.store.js';

export interface IntegrationsModuleDeps {
  config: Pick<
    OrchestratorConfig,
    | 'INTEGRATION_PROVIDERS'
    | 'INTEGRATION_TOKEN_KEYS'
    | 'INTEGRATION_CATALOG_FILE'
    | 'CODE_RUNNER_ENABLED'
    | 'SCHEDULES_ENABLED'
    | 'TOOL_SERVER_SECRETS'
    | 'USER_TOOL_SERVERS_PRIVATE_HOSTS'
    | 'proxy'
  >;
  assets: Pick<Assets, 'url'>;
  servers: ToolServers;
  serverItems: (userId: string, connections: ReadonlySet<string>) => Promise<IntegrationItem[]>;
  /** Signs OAuth states. All replicas must have the same secret. */
  stateSecret: string;
  connections: Pick<Connections, 'database' | 'withTransaction' | 'jobs'>;
  metrics: Registry;
  clock: Clock;
  logger: Logger;
}

export type IntegrationsModule = Awaited<ReturnType<typeof createIntegrationsModule>>;

export async function createIntegrationsModule(deps: IntegrationsModuleDeps) {
  const { config, clock, logger } = deps;
  const { database, withTransaction, jobs } = deps.connections;
  const { operators } = deps.servers;
  if (operators.some(({ auth }) => auth.type === 'oauth') && config.INTEGRATION_TOKEN_KEYS === undefined)
    throw new ConfigError('INTEGRATION_TOKEN_KEYS is not set; tool servers with accounts need it');
  const cipher = cipherOf(config);
  const providers = createProviderClients(config.INTEGRATION_PROVIDERS);
  const privateHosts = { operators: hostsOf(operators), users: config.USER_TOOL_SERVERS_PRIVATE_HOSTS };
  const discovery = createOutgoing(config.proxy, { connectMs: 5_000, publicExcept: privateHosts.operators });
  const publicDiscovery = createOutgoing(config.proxy, { connectMs: 5_000, publicExcept: privateHosts.users });
  const accounts = createServerAccounts({
    servers: deps.servers,
    outgoing: discovery,
    publicOutgoing: publicDiscovery,
    secrets: config.TOOL_SERVER_SECRETS,
    database,
    cipher,
    clock,
    logger,
  });
  const clients: ProviderClients = { find: async (name) => providers.get(name) ?? (await accounts.find(name)) };
  const oauth = createOAuthClient(config.proxy, privateHosts);
  const metrics = createIntegrationMetrics(deps.metrics);
  const tools = loadTools(config);
  const catalog = withoutOtherTools(loadIntegrationCatalog(config.INTEGRATION_CATALOG_FILE), tools);
  const missing = missingToolCategories(catalog, tools);
  if (missing.length > 0) logger.warn({ categories: missing }, 'the integration catalogue lacks categories of tools');
  const service = createIntegrationService({
    withTransaction,
    database,
    jobs,
    clients,
    oauth,
    cipher,
    states: createOAuthStates({ secret: deps.stateSecret, clock }),
    catalog: withImages(catalog, deps.assets.url),
    serverItems: deps.serverItems,
    prepare: accounts.prepare,
    async exists(provider, userId, tx) {
      const server = serverOfKey(provider) ?? '';
      return !isUserServerId(server) || (await findUserServer(tx, userId, server)) !== undefined;
    },
    connected: async ({ id, provider }, tx) => {
      if (serverOfKey(provider) === undefined) return;
      await jobs.enqueue({ kind: CONNECTION_LISTING_JOB, subjectId: id, workspaceId: id }, tx);
    },
    clock,
    logger,
  });
  const shared = {
    withTransaction,
    database,
    store: integrationRecords,
    jobs,
    clients,
    oauth,
    cipher,
    metrics,
    clock,
    logger,
  };
  const definitions: JobDefinition[] = [
    { type: REFRESH_JOB, handle: createTokenRefresh(shared) },
    { type: REVOCATION_JOB, handle: createTokenRevocation(shared) },
    { type: TOKEN_REENCRYPTION_JOB, handle: createTokenReencryption(shared) },
  ];
  if (config.INTEGRATION_TOKEN_KEYS !== undefined) {
    // Enqueue at every start: a process cannot tell whether it is the first one with a new key.
    await withTransaction((tx) => jobs.enqueue(tokenReencryption(cipher.keyId), tx));
  }
  const accessTokens = (from: Database) =>
    createAccessTokens({ withTransaction, database: from, jobs, cipher, clock, logger });
  return {
    service,
    providers,
    accessTokens,
    cipher,
    /** App and tool names that users see: a user's tool server must not imitate them. */
    names: catalog.items.map(({ name }) => name),
    routes: { ...integrationHandlers(service, operators), ...toolServerHandlers(service, deps.servers) },
    jobs: definitions,
    async close() {
      await Promise.all([oauth.close(), discovery.close(), publicDiscovery.close()]);
    },
  };
}

/** Without configured keys no integration can be connected, so a random key per process is sufficient. */
function cipherOf({ INTEGRATION_TOKEN_KEYS: [first, ...others] = [] }: IntegrationsModuleDeps['config']): TokenCipher {
  return createTokenCipher([first ?? { id: 'none', key: randomBytes(32) }, ...others]);
}
