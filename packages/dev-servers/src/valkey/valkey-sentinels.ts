import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type RunningValkey, startValkey } from './valkey.js';
import { untilValkey, valkeyCommand } from './valkey-command.js';

export interface ValkeySentinels {
  /** `redis-sentinel://` that lists all sentinels. */
  url: string;
  servers: readonly RunningValkey[];
  sentinels: readonly RunningValkey[];
  primary(): Promise<RunningValkey>;
  /** Kills the primary. @returns it, once the sentinels name another one */
  failOver(): Promise<RunningValkey>;
  close(): Promise<void>;
}

const MASTER = 'uswarm';
const DOWN_AFTER_MS = '1000';

/** Starts a primary with two replicas, and three sentinels, on loopback. @throws LocalError */
export async function startValkeySentinels({ directory }: { directory: string }): Promise<ValkeySentinels> {
  await using stack = new AsyncDisposableStack();
  const servers: RunningValkey[] = [];
  for (let index = 0; index < 3; index += 1) {
    const [first] = servers;
    const settings = {
      appendonly: 'no',
      'repl-diskless-sync-delay': '0',
      ...(first !== undefined && { replicaof: `127.0.0.1 ${first.port}` }),
    };
    const server = await startValkey({ directory: join(directory, `server-${index}`), settings });
    stack.defer(() => server.close());
    servers.push(server);
  }
  const sentinels: RunningValkey[] = [];
  for (let index = 0; index < 3; index += 1) {
    const folder = join(directory, `sentinel-${index}`);
    await mkdir(folder, { recursive: true });
    const sentinelFile = join(folder, 'sentinel.conf');
    const monitor = `sentinel monitor ${MASTER} 127.0.0.1 ${servers[0]?.port} 2`;
    const timing = `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}\nsentinel failover-timeout ${MASTER} 5000`;
    await writeFile(sentinelFile, `${monitor}\n${timing}\n`);
    const sentinel = await startValkey({ directory: folder, sentinelFile });
    stack.defer(() => sentinel.close());
    sentinels.push(sentinel);
  }
  for (const { port } of sentinels) {
    await untilValkey('the sentinels’ start', async () => {
      const replicas = await valkeyCommand<unknown[]>(port, 'SENTINEL', 'REPLICAS', MASTER);
      const others = await valkeyCommand<unknown[]>(port, 'SENTINEL', 'SENTINELS', MASTER);
      return replicas.length === 2 && others.length === 2;
    });
  }
  const owned = stack.move();

  /** As one sentinel sees it. */
  async function portAt(sentinel: RunningValkey): Promise<number> {
    const reply = await valkeyCommand<[string, string]>(sentinel.port, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER);
    return Number(reply[1]);
  }
  async function primary(): Promise<RunningValkey> {
    const [sentinel] = sentinels;
    const port = sentinel === undefined ? 0 : await portAt(sentinel);
    const found = servers.find((server) => server.port === port);
    if (found === undefined) throw new Error(`port ${port} is not a server`);
    return found;
  }
  return {
    url: `redis-sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}?master=${MASTER}`,
    servers,
    sentinels,
    primary,
    async failOver() {
      const killed = await primary();
      await killed.kill();
      await untilValkey('the failover', async () => {
        const ports = await Promise.all(sentinels.map(portAt));
        return ports.every((port) => port !== killed.port);
      });
      return killed;
    },
    close: () => owned.disposeAsync(),
  };
}
