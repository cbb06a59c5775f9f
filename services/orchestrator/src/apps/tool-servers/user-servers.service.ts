import { ApiError, type UserToolServer } from '@uswarm/contract';
import type { OrchestratorConfig } from '../../config.js';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import { appendAudit } from '../../records/audit.store.js';
import { listConnectedApps } from '../../records/integrations.store.js';
import { lockUser } from '../../records/lock-user.js';
import { deleteDefinitions, storeListing } from '../../records/tool-definitions.store.js';
import { deleteUnusedClient } from '../../records/tool-server-clients.store.js';
import {
  changeUserServer,
  deleteUserServer,
  insertUserServer,
  listUserServers,
  listUserServerStates,
  type UserServer,
  type UserServerRow,
  type UserServerState,
} from '../../records/user-tool-servers.store.js';
import type { ConnectingUser, IntegrationService } from '../integrations/integrations.service.js';
import { connectionKey } from './server-accounts.js';
import { addressProblem, canonicalAddress } from '../../platform/http/public-url.js';
import { newUserServerId } from './user-server-id.js';
import { cleanName, lookOfName } from './user-server-name.js';
import type { Probe, ServerProbe } from './user-server-probe.js';

export interface UserServersDeps {
  config: Pick<
    OrchestratorConfig,
    'USER_TOOL_SERVERS' | 'USER_TOOL_SERVERS_PER_USER' | 'USER_TOOL_SERVERS_PRIVATE_HOSTS'
  >;
  database: Database;
  withTransaction: WithTransaction;
  integrations: Pick<IntegrationService, 'drop' | 'keepToken'>;
  probe: ServerProbe;
  /** Used by operators' servers and by apps. */
  reservedNames: readonly string[];
  /** Ends a server's connections in this process. */
  endConnections: (userId: string, id: string) => void;
}

export interface NewServer {
  name: string;
  url: string;
  token?: string | undefined;
  /** An OAuth client that the user has registered there. */
  clientId?: string | undefined;
}

export interface UserServers {
  /** @throws ApiError `tool_servers_not_enabled` */
  list(userId: string): Promise<UserToolServer[]>;
  /**
   * Adds a server, or changes the one with this address.
   *
   * @throws ApiError `tool_servers_not_enabled`, `validation_failed`, `tool_server_limit_reached`,
   *   `tool_server_unusable`, `user_deleted`
   */
  add(by: ConnectingUser, server: NewServer): Promise<UserToolServer>;
  /** Also if users may no longer add servers. @throws ApiError `integration_not_found` */
  remove(by: ConnectingUser, id: string): Promise<void>;
}

const invalid = (path: string, message: string): ApiError =>
  new ApiError('validation_failed', { extra: { fields: [{ path, message }] } });

function shown(row: UserServerState, connected: ReadonlySet<string>): UserToolServer {
  const { id, name, url, auth, failure, tools, createdAt } = row;
  const hasAccount = auth === 'none' || connected.has(connectionKey(id));
  const state = failure === null ? 'connected' : 'failed';
  return {
    id,
    name,
    url,
    auth,
    state: hasAccount ? state : 'needs_account',
    failure,
    tools,
    created_at: createdAt.toISOString(),
  };
}

export function createUserServers(deps: UserServersDeps): UserServers {
  const { config, database, withTransaction, integrations } = deps;
  const reserved = new Set(deps.reservedNames.map(lookOfName));

  function requireEnabled(): void {
    if (!config.USER_TOOL_SERVERS) throw new ApiError('tool_servers_not_enabled');
  }

  function readAddress(text: string): string {
    const url = URL.parse(text);
    const problem = url === null ? 'must be a URL' : addressProblem(url, config.USER_TOOL_SERVERS_PRIVATE_HOSTS);
    if (url === null || problem !== undefined) throw invalid('url', problem ?? '');
    return canonicalAddress(url);
  }

  /** @returns the server with this address, if the user has one. @throws ApiError */
  function requireRoom(name: string, url: string, own: readonly UserServerRow[]): UserServerRow | undefined {
    const existing = own.find((server) => server.url === url);
    const others = own.filter((server) => server !== existing);
    const look = lookOfName(name);
    if (reserved.has(look) || others.some((other) => lookOfName(other.name) === look))
      throw invalid('name', 'must not look like the name of another server or app');
    if (existing === undefined && own.length >= config.USER_TOOL_SERVERS_PER_USER)
      throw new ApiError('tool_server_limit_reached');
    return existing;
  }

  const record = (verb: 'add' | 'remove', { userId, session }: ConnectingUser, server: string, tx: Transaction) => {
    const details = { server, ...(session.source === null ? {} : { source: session.source }) };
    return appendAudit(tx, { actor: 'user', action: `tool_server.${verb}`, userId, details });
  };

  /** @param id of a new server */
  function store(by: ConnectingUser, id: string, server: UserServer, token: string | undefined, probe: Probe) {
    const { userId } = by;
    return withTransaction(async (tx) => {
      if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
      // Another request may have added it while the server was called.
      const existing = requireRoom(server.name, server.url, await listUserServers(tx, userId));
      const row = { ...server, id: existing?.id ?? id, userId };
      const key = connectionKey(row.id);
      await (existing === undefined ? insertUserServer(tx, row) : changeUserServer(tx, row));
      if (existing !== undefined && existing.auth !== row.auth) await integrations.drop(by, key, tx);
      if (token !== undefined) await integrations.keepToken(by, key, token, tx);
      if ('tools' in probe) await storeListing(tx, { server: row.id, ownerId: userId }, probe.tools);
      if (existing === undefined) await record('add', by, row.id, tx);
      tx.afterCommit(() => deps.endConnections(userId, row.id));
      return row.id;
    });
  }

  async function list(userId: string): Promise<UserToolServer[]> {
    const rows = await listUserServerStates(database, userId);
    if (rows.length === 0) return [];
    const connected = new Set(await listConnectedApps(database, userId));
    return rows.map((row) => shown(row, connected));
  }

  return {
    async list(userId) {
      requireEnabled();
      return list(userId);
    },

    async add(by, { name: named, url: address, token, clientId }) {
      requireEnabled();
      const { userId } = by;
      const url = readAddress(address);
      const name = cleanName(named);
      if (name === '') throw invalid('name', 'must have a visible letter or digit');
      if (token !== undefined && clientId !== undefined) throw invalid('client_id', 'is not used with a token');
      // Before the server is called: an attacker could otherwise let the platform call servers without end.
      const existing = requireRoom(name, url, await listUserServers(database, userId));
      const id = existing?.id ?? newUserServerId();
      const probe = await deps.probe({ userId, id, url, token, clientId });
      const own = 'needsAccount' in probe ? 'oauth' : token === undefined ? 'none' : 'bearer';
      const server: UserServer = { name, url, auth: own, clientId: own === 'oauth' ? (clientId ?? null) : null };
      const stored = await store(by, id, server, token, probe);
      const added = (await list(userId)).find((one) => one.id === stored);
      if (added === undefined) throw new ApiError('integration_not_found');
      return added;
    },

    async remove(by, id) {
      const { userId } = by;
      await withTransaction(async (tx) => {
        // A connection that is being completed waits, and finds no server then.
        await lockUser(tx, userId);
        if (!(await deleteUserServer(tx, userId, id))) throw new ApiError('integration_not_found');
        await integrations.drop(by, connectionKey(id), tx);
        await deleteDefinitions(tx, { server: id, ownerId: userId });
        await deleteUnusedClient(tx, id);
        await record('remove', by, id, tx);
        tx.afterCommit(() => deps.endConnections(userId, id));
      });
    },
  };
}
