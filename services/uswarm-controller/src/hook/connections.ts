import { Client } from 'undici';

/**
 * Connections to the webhook's Service, each with one request at a time. A Service picks a pod per connection, so a
 * caller that needs another pod has to open another connection, which a pool of undici does not offer.
 */
export interface Connections {
  /** @param fresh true for a connection that nothing was asked on before */
  take(fresh: boolean): Client;
  /** To be used again. */
  giveBack(client: Client): void;
  /** Not to be used again. */
  drop(client: Client): void;
  close(): Promise<void>;
}

const KEEP_ALIVE_MS = 10_000;

/** @param connectMs milliseconds until a connection has to be open */
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
