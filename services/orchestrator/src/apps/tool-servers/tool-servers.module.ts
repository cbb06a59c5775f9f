import type { IntegrationItem } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { createOutgoing } from '@uswarm/service-kit/outgoing';
import type { OrchestratorConfig } from '../../config.js';
import type { Assets } from '../../platform/core/assets.js';
import type { Connections } from '../../records/connections.js';
import { type DefinitionRow, listDefinitions } from '../../records/tool-definitions.store.js';
import type { PlatformTool } from '../../turns/tools/platform-tool.js';
import { type ConnectedServer, createListing } from './listing.js';
import { createServerClient } from './server-client.js';
import { serverTool } from './server-tools.js';
import { SEPARATOR } from './tool-definition.js';
import { isAllowed, loadToolServers } from './tool-servers-file.js';
import { createToolReview } from './tool-review.js';

export interface ToolServersModuleDeps {
  config: Pick<OrchestratorConfig, 'TOOL_SERVERS_FILE' | 'TOOL_SERVER_SECRETS' | 'proxy'>;
  /** For tool calls. */
  background: Pick<Connections, 'database' | 'withTransaction'>;
  assets: Pick<Assets, 'url'>;
  version: string;
  logger: Logger;
}

const ICON = '/v1/assets/icon-plug.svg';
const CONNECT_MS = 10_000;
/** Size limit of schemas in a turn request, in bytes. */
const MAX_SCHEMAS_BYTES = 2 * 1024 * 1024;
/** A turn may begin with definitions of this age. Calls compare with the current ones. */
const FRESH_MS = 2_000;

/** MCP servers of the operator, whose tools all users' agents can use. */
export function createToolServersModule(deps: ToolServersModuleDeps) {
  const { config, background, assets, version, logger } = deps;
  const { database, withTransaction } = background;
  let loaded: { at: number; tools: Promise<PlatformTool[]> } | undefined;
  const forget = (): void => void (loaded = undefined);
  const outgoing = createOutgoing(config.proxy, { connectMs: CONNECT_MS });
  const servers: ConnectedServer[] = loadToolServers(config.TOOL_SERVERS_FILE).map((server) => ({
    server,
    client: createServerClient(server, { outgoing, secrets: config.TOOL_SERVER_SECRETS, version }),
  }));
  const listing = createListing({ servers, database, withTransaction, stored: forget, logger });
  const icon = assets.url(ICON);

  function toolOf({ server: id, definition, hash, changed, isListed }: DefinitionRow): PlatformTool[] {
    const connected = servers.find(({ server }) => server.id === id);
    if (connected === undefined || changed !== null || !isListed) return [];
    const { server, client } = connected;
    if (!isAllowed(server, definition.name)) return [];
    const isUnchanged: Parameters<typeof serverTool>[0]['isUnchanged'] = (tool, signal) =>
      listing.isUnchanged(connected, tool, signal);
    return [serverTool({ server, client, icon, isUnchanged }, { definition, hash })];
  }

  const ids = servers.map(({ server }) => server.id);

  let isFull = false;
  function fitting(all: readonly PlatformTool[]): PlatformTool[] {
    let bytes = 0;
    const kept = all.filter(({ inputSchema }) => (bytes += JSON.stringify(inputSchema).length) <= MAX_SCHEMAS_BYTES);
    if (kept.length < all.length && !isFull)
      logger.warn({ left: all.length - kept.length }, 'tool servers list more tools than agents can have');
    isFull = kept.length < all.length;
    return kept;
  }

  /** The tools that servers list as they were accepted. */
  async function tools(): Promise<readonly PlatformTool[]> {
    if (servers.length === 0) return [];
    const now = performance.now();
    if (loaded === undefined || now - loaded.at > FRESH_MS) {
      const reading = listDefinitions(database, ids).then((rows) => fitting(rows.flatMap(toolOf)));
      loaded = { at: now, tools: reading };
      reading.catch(forget);
    }
    return await loaded.tools;
  }

  /** Servers with tools, as users see them. */
  async function items(): Promise<IntegrationItem[]> {
    const used = new Set((await tools()).map(({ name }) => name.split(SEPARATOR)[0]));
    return servers.flatMap(({ server: { id, name, description, icon_url: own, category_id } }) => {
      const item = { type: 'tool', provider: null, name, description, icon_url: own ?? icon, category_id } as const;
      return used.has(id) ? [{ ...item, enabled: true }] : [];
    });
  }

  return {
    tools,
    items,
    review: createToolReview({
      servers: servers.map(({ server }) => server),
      refreshAll: listing.refreshAll,
      database,
      withTransaction,
      accepted: forget,
    }),
    jobs: servers.length === 0 ? [] : [listing.job],
    async close(): Promise<void> {
      await Promise.all(servers.map(({ client }) => client.close()));
      await outgoing.close();
    },
  };
}
