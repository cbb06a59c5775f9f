import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgres } from '@uswarm/dev-servers';
import { killIfAlive } from '../separate.js';

/** A Postgres that keeps what it has committed, and that a test can restart. */
export interface OwnPostgres {
  /** The URL of its database, also after restarts. */
  url: string;
  /** Restarts it at the same port, after a SIGKILL or a fast shutdown. Restarts run one after another. */
  restart(how: 'kill' | 'shutdown'): Promise<void>;
  /** Resolves when no restart runs. */
  restarted(): Promise<void>;
  close(): Promise<void>;
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-postgres-'));
  // World-accessible, because Postgres runs as another user if we are root.
  await chmod(folder, 0o755);
  const directory = join(folder, 'postgres');
  let server = await startPostgres({ directory });
  const { port } = server;
  let restarting = Promise.resolve();
  let isClosed = false;
  async function restart(how: 'kill' | 'shutdown'): Promise<void> {
    if (isClosed) return;
    if (how === 'kill') killIfAlive(server.pid);
    await server.close();
    server = await startPostgres({ directory, port });
  }
  return {
    url: await server.createDatabase('uswarm'),
    restart: (how) => (restarting = restarting.then(() => restart(how))),
    restarted: () => restarting,
    async close() {
      isClosed = true;
      await restarting;
      await server.close({ remove: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
}
