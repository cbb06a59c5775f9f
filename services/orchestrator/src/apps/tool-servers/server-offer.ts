import { LRUCache } from 'lru-cache';
import { type IntegrationItem, IntegrationProvider } from '@uswarm/contract';
import { serverOfTool } from '@uswarm/contract/agent-tools';
import type { Logger } from '@uswarm/service-kit';
import type { Database } from '../../platform/database/database.js';
import { listConnectedApps } from '../../records/integrations.store.js';
import { type DefinitionRow, listDefinitions } from '../../records/tool-definitions.store.js';
import type { PlatformTool } from '../../turns/tools/platform-tool.js';
import type { ConnectedServers } from './connected-servers.js';
import type { ConnectedServer, Listing } from './listing.js';
import type { ResultPictures } from './result-pictures.js';
import { connectionKey } from './server-accounts.js';
import { serverTool } from './server-tools.js';
import { isAllowed, isPersonal, type ToolServer } from './tool-servers-file.js';
import type { ToolServers } from './tool-servers.js';

export interface ServerOfferDeps {
  servers: ToolServers;
  connected: ConnectedServers;
  listing: Pick<Listing, 'isUnchanged' | 'refresh'>;
  database: Database;
  iconOf: (server: ToolServer) => string;
  pictures: ResultPictures;
  logger: Pick<Logger, 'warn' | 'debug'>;
}

/** Size limit of schemas in a turn request, in bytes. */
const MAX_SCHEMAS_BYTES = 2 * 1024 * 1024;
/** An account lists its tools again when a turn begins after this time. */
const REFRESH_EVERY_MS = 60 * 60_000;
const REFRESH_MS = 15_000;
const MAX_REFRESHED = 10_000;
/** Shared definitions are read again after this time. Calls compare with the current ones anyway. */
const FRESH_MS = 2_000;

/** Tools and servers that a user's agents can use. */
export interface ServerOffer {
  tools(userId: string): Promise<readonly PlatformTool[]>;
  /**
   * Servers with tools, and servers to which the user can connect an account.
   *
   * @param connections what the user has connected, by key
   */
  items(userId: string, connections: ReadonlySet<string>): Promise<IntegrationItem[]>;
  /** Forgets shared definitions that were read before. */
  forget(): void;
}

const hasAccount = ({ id, auth }: ToolServer, connections: ReadonlySet<string>): boolean =>
  auth.type === 'none' || connections.has(connectionKey(id));

export function createServerOffer(deps: ServerOfferDeps): ServerOffer {
  const { servers, connected, database, iconOf, pictures, logger } = deps;
  const sharedIds = connected.shared.map(({ server }) => server.id);
  const refreshed = new LRUCache<string, true>({ max: MAX_REFRESHED, ttl: REFRESH_EVERY_MS });
  let loaded: { at: number; tools: Promise<PlatformTool[]> } | undefined;
  const forget = (): void => void (loaded = undefined);

  function toolOf(place: ConnectedServer, { definition, hash, changed, isListed }: DefinitionRow): PlatformTool[] {
    const { server, client } = place;
    if (changed !== null || !isListed || !isAllowed(server, definition.name)) return [];
    const isUnchanged: Parameters<typeof serverTool>[0]['isUnchanged'] = (tool, signal) =>
      deps.listing.isUnchanged(place, tool, signal);
    return [serverTool({ server, client, icon: iconOf(server), pictures, isUnchanged }, { definition, hash })];
  }

  async function shared(): Promise<PlatformTool[]> {
    if (sharedIds.length === 0) return [];
    const now = performance.now();
    if (loaded === undefined || now - loaded.at > FRESH_MS) {
      const reading = listDefinitions(database, sharedIds, null).then((rows) =>
        rows.flatMap((row) => {
          const place = connected.shared.find(({ server }) => server.id === row.server);
          return place === undefined ? [] : toolOf(place, row);
        }),
      );
      loaded = { at: now, tools: reading };
      reading.catch(forget);
    }
    return await loaded.tools;
  }

  /** Notices new and changed tools of an account that is used. The turn does not wait. */
  function refreshLater(place: ConnectedServer): void {
    const key = `${place.ownerId} ${place.server.id}`;
    if (refreshed.has(key)) return;
    refreshed.set(key, true);
    deps.listing.refresh(place, AbortSignal.timeout(REFRESH_MS)).catch((error: unknown) => {
      logger.debug({ server: place.server.id, err: error }, 'the tools of an account cannot be listed');
    });
  }

  /** Servers that can be called with an account, or without one, of this user. */
  async function connectedOf(userId: string, all: readonly ToolServer[]): Promise<ToolServer[]> {
    const personal = all.filter(isPersonal);
    const needsAccount = personal.some(({ auth }) => auth.type !== 'none');
    const connections = new Set(needsAccount ? await listConnectedApps(database, userId) : []);
    return personal.filter((server) => hasAccount(server, connections));
  }

  async function personalTools(userId: string): Promise<PlatformTool[]> {
    const own = await connectedOf(userId, await servers.of(userId));
    if (own.length === 0) return [];
    const ids = own.map(({ id }) => id);
    const rows = await listDefinitions(database, ids, userId);
    return own.flatMap((server) => {
      const place = connected.of(server, userId);
      refreshLater(place);
      return rows.filter((row) => row.server === server.id).flatMap((row) => toolOf(place, row));
    });
  }

  let isFull = false;
  function fitting(all: readonly PlatformTool[]): PlatformTool[] {
    let bytes = 0;
    const kept = all.filter(({ inputSchema }) => (bytes += JSON.stringify(inputSchema).length) <= MAX_SCHEMAS_BYTES);
    if (kept.length < all.length && !isFull)
      logger.warn({ left: all.length - kept.length }, 'tool servers list more tools than agents can have');
    isFull = kept.length < all.length;
    return kept;
  }

  return {
    forget,

    tools: async (userId) => fitting([...(await shared()), ...(await personalTools(userId))]),

    async items(userId, connections) {
      const used = new Set((await shared()).map(({ name }) => serverOfTool(name)));
      const all = await servers.of(userId);
      return all.flatMap((server): IntegrationItem[] => {
        const { id, name, description, category_id } = server;
        const shown = { name, description, icon_url: iconOf(server), category_id };
        if (!isPersonal(server)) return used.has(id) ? [{ type: 'tool', provider: null, ...shown, enabled: true }] : [];
        const { data: provider = null } = IntegrationProvider.safeParse(id);
        return [{ type: 'app', provider, server: id, ...shown, enabled: hasAccount(server, connections) }];
      });
    },
  };
}
