import type { OrchestratorConfig } from '../../config.js';
import type { Database } from '../../platform/database/database.js';
import { findUserServer, listUserServers, type UserServerRow } from '../../records/user-tool-servers.store.js';
import { type ToolServer, userServer } from './tool-servers-file.js';
import { isUserServerId } from './user-server-id.js';
import { lookOfName } from './user-server-name.js';

export interface ToolServersDeps {
  /** In the operator's file. */
  operators: readonly ToolServer[];
  config: Pick<OrchestratorConfig, 'USER_TOOL_SERVERS' | 'USER_TOOL_SERVERS_REDIRECT_URLS'>;
  database: Database;
}

/** A user's tool servers: the operator's, and the user's own. */
export interface ToolServers {
  operators: readonly ToolServer[];
  of(userId: string): Promise<readonly ToolServer[]>;
  find(userId: string, id: string): Promise<ToolServer | undefined>;
}

export function createToolServers({ operators, config, database }: ToolServersDeps): ToolServers {
  const isEnabled = config.USER_TOOL_SERVERS;
  const [first, ...others] = config.USER_TOOL_SERVERS_REDIRECT_URLS;
  const taken = new Set(operators.flatMap(({ id, name }) => [lookOfName(id), lookOfName(name)]));

  function authOf({ id, auth, clientId }: UserServerRow): ToolServer['auth'] {
    if (auth === 'none') return { type: 'none' };
    // Connected accounts keep their tokens if the operator has removed the addresses.
    if (auth === 'bearer' || first === undefined) return { type: 'user_token' };
    const filled = (url: string): string => url.replaceAll('{server}', id);
    const client = clientId === null ? {} : { client_id: clientId };
    return { type: 'oauth', redirect_urls: [filled(first), ...others.map(filled)], ...client };
  }

  function read(row: UserServerRow): ToolServer {
    const { id, userId, name, url } = row;
    // The operator has added a server with this name later.
    const shown = taken.has(lookOfName(name)) ? `${name} (${new URL(url).hostname})` : name;
    return userServer(userId, { id, name: shown, url, auth: authOf(row) });
  }

  return {
    operators,

    async of(userId) {
      if (!isEnabled) return operators;
      return [...operators, ...(await listUserServers(database, userId)).map(read)];
    },

    async find(userId, id) {
      if (!isUserServerId(id)) return operators.find((server) => server.id === id);
      const row = isEnabled ? await findUserServer(database, userId, id) : undefined;
      return row && read(row);
    },
  };
}
