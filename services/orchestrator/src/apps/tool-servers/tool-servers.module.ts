import type { Logger } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import type { Assets } from '../../platform/core/assets.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { Connections } from '../../records/connections.js';
import { findIntegration, findIntegrationOf } from '../../records/integrations.store.js';
import type { AccessTokens } from '../integrations/access-tokens.js';
import { CONNECTION_LISTING_JOB } from './connection-listing.js';
import { createConnectedServers } from './connected-servers.js';
import { knownServer } from './known-servers.js';
import { createListing } from './listing.js';
import { createOperatorReview } from './operator-review.js';
import { connectionKey, serverOfKey } from './server-accounts.js';
import { serverToolHandlers } from './server-tools.routes.js';
import { createServerOffer } from './server-offer.js';
import { createToolReview } from './tool-review.js';
import type { ToolServer } from './tool-servers-file.js';

export interface ToolServersModuleDeps {
  servers: readonly ToolServer[];
  config: Pick<OrchestratorConfig, 'TOOL_SERVER_SECRETS' | 'proxy'>;
  /** For tool calls. */
  background: Pick<Connections, 'database' | 'withTransaction'>;
  accessTokens: AccessTokens;
  assets: Pick<Assets, 'url'>;
  version: string;
  logger: Logger;
}

/** Icon of servers without one. */
const ICON = '/v1/assets/icon-plug.svg';
const CONNECT_MS = 10_000;

/** MCP servers of the operator, whose tools users' agents can use. */
export function createToolServersModule(deps: ToolServersModuleDeps) {
  const { servers, config, background, accessTokens, assets, version, logger } = deps;
  const { database, withTransaction } = background;
  const outgoing = createOutgoing(config.proxy, { connectMs: CONNECT_MS });
  const connected = createConnectedServers({
    servers,
    outgoing,
    secrets: config.TOOL_SERVER_SECRETS,
    accessTokens,
    version,
  });
  const listing = createListing({
    servers: connected.shared,
    database,
    withTransaction,
    stored: () => offer.forget(),
    logger,
  });
  const offer = createServerOffer({
    servers,
    connected,
    listing,
    database,
    iconOf: ({ id, icon_url: icon }) => assets.url(icon ?? knownServer(id)?.icon ?? ICON),
    logger,
  });

  const connectionListing: JobDefinition = {
    type: CONNECTION_LISTING_JOB,
    async handle({ subjectId }, signal) {
      const row = await findIntegration(database, subjectId);
      const server = servers.find(({ id }) => id === serverOfKey(row?.provider ?? ''));
      if (row !== undefined && server !== undefined) await listing.refresh(connected.of(server, row.userId), signal);
      return { done: true };
    },
  };

  const review = createToolReview({ database, withTransaction, accepted: offer.forget });

  return {
    tools: offer.tools,
    items: offer.items,
    operatorReview: createOperatorReview({
      servers: connected.shared.map(({ server }) => server),
      refreshAll: listing.refreshAll,
      review,
    }),
    routes: serverToolHandlers({
      servers: servers.filter(({ auth }) => auth.type === 'oauth'),
      review,
      isConnected: async (userId, server) =>
        (await findIntegrationOf(database, userId, connectionKey(server))) !== undefined,
    }),
    jobs: servers.length === 0 ? [] : [listing.job, connectionListing],
    async close(): Promise<void> {
      await connected.close();
      await outgoing.close();
    },
  };
}
