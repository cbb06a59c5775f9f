import { LRUCache } from 'lru-cache';
import type { Outgoing } from '@uswarm/service-kit/outgoing';
import type { Database } from '../../platform/database/database.js';
import type { AccessTokens } from '../integrations/access-tokens.js';
import type { ConnectedServer } from './listing.js';
import { createServerClient, type ServerTokens } from './server-client.js';
import { createServerScopes } from './server-scopes.js';
import { sharedTokens, userTokens } from './server-tokens.js';
import { isPersonal, type ToolServer } from './tool-servers-file.js';
import { TURN_DEADLINE_MS } from '../../turns/worker.js';

export interface ConnectedServersDeps {
  /** Of the operator. */
  servers: readonly ToolServer[];
  outgoing: Pick<Outgoing, 'fetch'>;
  /** For servers that users have added: reaches only addresses on the internet. */
  publicOutgoing: Pick<Outgoing, 'fetch'>;
  /** Directory with the tokens. */
  secrets: string | undefined;
  accessTokens: AccessTokens;
  database: Database;
  version: string;
  /** Called when a server reports that its tools have changed. */
  listChanged: (connected: ConnectedServer) => void;
}

/** Limit of open user connections. */
const MAX_CONNECTIONS = 500;
const IDLE_MS = 10 * 60_000;

/** One connection per server with a shared account, and one per user of the others. */
export function createConnectedServers(deps: ConnectedServersDeps) {
  const { servers, outgoing, publicOutgoing, secrets, accessTokens, database, version, listChanged } = deps;

  function connect(server: ToolServer, ownerId: string | null, tokens: ServerTokens): ConnectedServer {
    const client = createServerClient(server, {
      outgoing: server.addedBy === undefined ? outgoing : publicOutgoing,
      tokens,
      isShared: ownerId === null,
      ...(ownerId === null ? {} : { scopes: createServerScopes(server, ownerId, database) }),
      version,
      listChanged: () => listChanged(connected),
    });
    const connected: ConnectedServer = { server, ownerId, client };
    return connected;
  }

  const shared = servers
    .filter((server) => !isPersonal(server))
    .map((server) => connect(server, null, sharedTokens(server, secrets)));
  const users = new LRUCache<string, ConnectedServer>({
    max: MAX_CONNECTIONS,
    ttl: IDLE_MS,
    updateAgeOnGet: true,
    ttlAutopurge: true,
    // Calls in flight end first, unless the user has removed the server. One that asks the user can last as long as its turn.
    dispose: ({ client }, _key, reason) => {
      if (reason === 'delete') void client.close();
      else setTimeout(() => void client.close(), TURN_DEADLINE_MS).unref();
    },
  });
  const keyOf = (userId: string, id: string): string => `${userId} ${id}`;
  return {
    shared,

    of(server: ToolServer, userId: string): ConnectedServer {
      const key = keyOf(userId, server.id);
      const open = users.get(key);
      // The user may have renamed it. With another kind of account, the tokens come from elsewhere.
      if (open?.server.auth.type === server.auth.type) return { ...open, server };
      const connected = connect(server, userId, userTokens(server, userId, accessTokens));
      users.set(key, connected);
      return connected;
    },

    /** Ends calls in flight, too. */
    end: (userId: string, id: string): void => void users.delete(keyOf(userId, id)),

    async close(): Promise<void> {
      const open = [...shared, ...users.values()];
      users.clear();
      await Promise.all(open.map(({ client }) => client.close()));
    },
  };
}

export type ConnectedServers = ReturnType<typeof createConnectedServers>;
