import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RunningPostgres, startPostgres, startStandby } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import pg from 'pg';
import { killIfAlive } from '../processes.js';
import type { Interval } from './lost-commits.js';

/** A Postgres that keeps what it has committed, until a standby is promoted, and that a test can restart. */
export interface OwnPostgres {
  /** The URL of its database, also after restarts and promotions. */
  url: string;
  /** Restarts it at the same port, after a SIGKILL or a fast shutdown. Server changes run one after another. */
  restart(how: 'kill' | 'shutdown'): Promise<void>;
  /** Kills it, and promotes an asynchronous standby that lacks what was committed in the last `lackMs`, or a little more. */
  promoteStandby(lackMs: number): Promotion;
  /** The times in which commits were lost, by `performance.now()`. Nothing was lost that was acknowledged before or begun after. */
  lost(): readonly Interval[];
  /** Resolves when no restart and no promotion runs. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

export interface Promotion {
  /** Resolves when the standby begins to lack what is committed. */
  begun: Promise<void>;
  /** Resolves when the standby has been promoted. */
  ended: Promise<void>;
}

export async function startOwnPostgres(): Promise<OwnPostgres> {
  const folder = await mkdtemp(join(tmpdir(), 'uswarm-postgres-'));
  // World-accessible, because Postgres runs as another user if we are root.
  await chmod(folder, 0o755);
  let directory = join(folder, 'postgres-0');
  let server = await startPostgres({ directory });
  // Installation address.
  const address = await startFaultInjectionProxy(server.url);
  const lost: Interval[] = [];
  let changing = Promise.resolve();
  let isClosed = false;

  async function restart(how: 'kill' | 'shutdown'): Promise<void> {
    if (isClosed) return;
    const { port } = server;
    if (how === 'kill') killIfAlive(server.pid);
    await server.close();
    server = await startPostgres({ directory, port });
  }

  async function promoteStandby(lackMs: number, begin: () => void): Promise<void> {
    if (isClosed) return;
    const next = join(folder, `postgres-${lost.length + 1}`);
    const replication = await startFaultInjectionProxy(server.url);
    try {
      const { hostname: host, port } = new URL(replication.redirect(server.url));
      const source = { host, port: Number(port) };
      const standby = await startStandby({ primary: server, source, directory: next, durable: true });
      const from = await untilReceived(server);
      replication.freeze();
      begin();
      await sleep(lackMs);
      await address.disconnect();
      lost.push({ from, to: performance.now() });
      // Nothing reaches the standby any more, as if the primary server's host had failed.
      await replication.close();
      killIfAlive(server.pid);
      await standby.promote();
      address.retarget(standby.url);
      await server.close({ remove: true });
      server = standby;
      directory = next;
    } finally {
      await replication.close();
      await address.restore();
    }
  }

  return {
    url: address.redirect(await server.createDatabase('uswarm')),
    restart: (how) => (changing = changing.then(() => restart(how))),
    promoteStandby(lackMs) {
      const { promise: begun, resolve } = Promise.withResolvers<void>();
      changing = changing.then(() => promoteStandby(lackMs, resolve)).finally(resolve);
      return { begun, ended: changing };
    },
    lost: () => lost,
    settled: () => changing,
    async close() {
      isClosed = true;
      await changing;
      await address.close();
      await server.close({ remove: true });
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** @returns a time; the standby has all commits that were acknowledged before it */
async function untilReceived({ url }: RunningPostgres): Promise<number> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const time = performance.now();
    const { rows } = await client.query<{ position: string }>('SELECT pg_current_wal_flush_lsn()::text AS position');
    const sql = 'SELECT FROM pg_stat_replication WHERE flush_lsn >= $1::pg_lsn';
    await eventually(async () => (await client.query(sql, [rows[0]?.position])).rowCount, {
      until: (standbys) => standbys === 1,
      description: 'the standby has received what was committed',
    });
    return time;
  } finally {
    await client.end();
  }
}
