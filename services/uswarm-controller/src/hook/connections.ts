import { Client } from 'undici';

/**
 * Connections to the webhook's Service, each with one request at a time. A Service selects a pod per connection, so
 * reaching another pod takes another connection, which an undici pool does not offer.
 */
export interface Connections {
  /** @param fresh true for a connection without earlier requests */
  take(fresh: boolean): Client;
  /** Returns the connection to the pool. */
  giveBack(client: Client): void;
  /** Closes the connection. */
  drop(client: Client): void;
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 10_000;

/** @param connectMs connect timeout in milliseconds */
export function createConnections(origin: string, connectMs: number): Connections {
  const idle: Client[] = [];
  const all = new Set<Client>();
  const open = (): Client => {
    const client = new Client(origin, { keepAliveTimeout: KEEP_ALIVE_MS, connectTimeout: connectMs });
    all.add(client);
    return client;
  };
  return {
    take: (fresh) => (fresh ? undefined : idle.pop()) ?? open(),
    giveBack: (client) => void idle.push(client),
    drop(client) {
      all.delete(client);
      client.destroy().catch(() => {});
    },
    async close() {
      idle.length = 0;
      await Promise.all([...all].map((client) => client.destroy()));
    },
  };
}
