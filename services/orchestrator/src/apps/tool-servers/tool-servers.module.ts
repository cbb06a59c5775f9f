import type { FileReader } from '@uswarm/file-reader';
import type { Logger } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import type { Assets } from '../../platform/core/assets.js';
import type { JobDefinition } from '../../platform/jobs/job-definition.js';
import type { Connections } from '../../records/connections.js';
import { findIntegration, findIntegrationOf } from '../../records/integrations.store.js';
import type { AccessTokens } from '../integrations/access-tokens.js';
import type { IntegrationService } from '../integrations/integrations.service.js';
import { CONNECTION_LISTING_JOB } from './connection-listing.js';
import { createConnectedServers } from './connected-servers.js';
import { knownServer } from './known-servers.js';
import { createListChanges } from './list-changes.js';
import { createListing } from './listing.js';
import { createOperatorReview } from './operator-review.js';
import { createResultPictures } from './result-pictures.js';
import { connectionKey, serverOfKey } from './server-accounts.js';
import { serverToolHandlers } from './server-tools.routes.js';
import { createServerOffer } from './server-offer.js';
import { createToolReview } from './tool-review.js';
import type { ToolServer } from './tool-servers-file.js';
import type { ToolServers } from './tool-servers.js';
import { createServerProbe } from './user-server-probe.js';
import { userServerHandlers } from './user-servers.routes.js';
import { createUserServers, type UserServersDeps } from './user-servers.service.js';

export interface ToolServersModuleDeps {
  servers: ToolServers;
  config: UserServersDeps['config'] &
    Pick<OrchestratorConfig, 'TOOL_SERVER_SECRETS' | 'USER_TOOL_SERVERS_REDIRECT_URLS' | 'proxy'>;
  /** For tool calls. */
  background: Pick<Connections, 'database' | 'withTransaction'>;
  accessTokens: AccessTokens;
  integrations: Pick<IntegrationService, 'disconnect' | 'drop' | 'keepToken'>;
  /** Users' servers must not have them. */
  appNames: readonly string[];
  assets: Pick<Assets, 'url'>;
  reader: Pick<FileReader, 'picture'>;
  version: string;
  logger: Logger;
}

/** Icon of servers without one. */
const ICON = '/v1/assets/icon-plug.svg';
const CONNECT_MS = 10_000;
/** Deadline for a list after a reported change. */
const CHANGE_MS = 60_000;

/** MCP servers, whose tools users' agents can use. */
export function createToolServersModule(deps: ToolServersModuleDeps) {
  const { servers, config, background, accessTokens, assets, reader, version, logger } = deps;
  const { database, withTransaction } = background;
  const { operators } = servers;
  const outgoing = createOutgoing(config.proxy, { connectMs: CONNECT_MS });
  const publicExcept = config.USER_TOOL_SERVERS_PRIVATE_HOSTS;
  const publicOutgoing = createOutgoing(config.proxy, { connectMs: CONNECT_MS, publicExcept });
  const connected = createConnectedServers({
    servers: operators,
    outgoing,
    publicOutgoing,
    secrets: config.TOOL_SERVER_SECRETS,
    accessTokens,
    database,
    version,
    listChanged: (server) => changes.changed(server),
  });
  const listing = createListing({
    servers: connected.shared,
    database,
    withTransaction,
    stored: () => offer.forget(),
    logger,
  });
  const changes = createListChanges({
    refresh: (server) =>
      listing.tryRefresh(server, AbortSignal.timeout(CHANGE_MS)).catch((error: unknown) => {
        logger.warn({ server: server.server.id, err: error }, 'the changed tools of a tool server cannot be listed');
      }),
  });
  const offer = createServerOffer({
    servers,
    connected,
    listing,
    database,
    iconOf: ({ id, icon_url: icon }) => assets.url(icon ?? knownServer(id)?.icon ?? ICON),
    pictures: createResultPictures(reader),
    logger,
  });

  const connectionListing: JobDefinition = {
    type: CONNECTION_LISTING_JOB,
    async handle({ subjectId }, signal) {
      const row = await findIntegration(database, subjectId);
      const id = serverOfKey(row?.provider ?? '');
      const server = row === undefined || id === undefined ? undefined : await servers.find(row.userId, id);
      if (row !== undefined && server !== undefined) await listing.refresh(connected.of(server, row.userId), signal);
      return { done: true };
    },
  };

  const review = createToolReview({ database, withTransaction, accepted: offer.forget });

  const probe = createServerProbe({
    outgoing: publicOutgoing,
    canConnect: config.USER_TOOL_SERVERS_REDIRECT_URLS.length > 0,
    version,
    logger,
  });
  const userServers = createUserServers({
    config,
    database,
    withTransaction,
    integrations: deps.integrations,
    probe,
    reservedNames: [...operators.flatMap(({ id, name }) => [id, name]), ...deps.appNames],
    endConnections: connected.end,
  });

  const isConnected = async (userId: string, { id, auth }: ToolServer): Promise<boolean> =>
    auth.type === 'none' || (await findIntegrationOf(database, userId, connectionKey(id))) !== undefined;

  return {
    tools: offer.tools,
    items: offer.items,
    operatorReview: createOperatorReview({
      servers: connected.shared.map(({ server }) => server),
      refreshAll: listing.refreshAll,
      review,
    }),
    routes: {
      ...serverToolHandlers({ servers, review, isConnected }),
      ...userServerHandlers(userServers, deps.integrations),
    },
    jobs: operators.length > 0 || config.USER_TOOL_SERVERS ? [listing.job, connectionListing] : [],
    async close(): Promise<void> {
      changes.close();
      await connected.close();
      await Promise.all([outgoing.close(), publicOutgoing.close()]);
    },
  };
}
