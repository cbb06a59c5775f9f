import { randomUUID } from 'node:crypto';
import { appendFile, chown, cp, mkdir, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { describeCluster, SUPERUSER } from './postgres-cluster.js';
import { postgresPrograms, postgresUser, type SystemUser } from './postgres-home.js';
import { launch, runningServer, type RunningPostgres } from './postgres.js';

export interface StandbyOptions {
  /** The primary server, with the superuser. */
  primary: Pick<RunningPostgres, 'url'>;
  /** Address from which the standby receives the primary's log. Default: the primary itself. */
  source?: { host: string; port: number };
  /** A new folder. `startPostgres` starts the promoted server of this folder again. */
  directory: string;
  /** True keeps its commits after a crash. Default: false, for faster tests. */
  durable?: boolean;
}

export interface RunningStandby extends RunningPostgres {
  /** Makes it a primary server on a new timeline, with what it has received. */
  promote(): Promise<void>;
}

/** Starts an asynchronous standby for a running server on the same machine. @throws LocalError */
export async function startStandby(options: StandbyOptions): Promise<RunningStandby> {
  const { primary, source, directory: wanted, durable = false } = options;
  await mkdir(wanted, { recursive: true });
  const directory = await realpath(wanted);
  const dataDirectory = join(directory, 'data');
  const { hostname, port, password } = new URL(primary.url);
  const from = source ?? { host: hostname, port: Number(port) };
  const user = postgresUser();
  await copyCluster(primary.url, dataDirectory);
  const connection = `host=${from.host} port=${from.port} user=${SUPERUSER} password=${password}`;
  await appendFile(join(dataDirectory, 'postgresql.auto.conf'), `primary_conninfo = '${connection}'\n`);
  await writeFile(join(dataDirectory, 'standby.signal'), '');
  if (user !== undefined) await chownAll(directory, user);
  const programs = await postgresPrograms(user);
  const cluster = { dataDirectory, password };
  describeCluster(directory, cluster);
  const logFile = join(directory, 'postgres.log');
  const { identity, port: ownPort } = await launch({ dataDirectory, durable, logFile, programs, user }, undefined);
  const running = runningServer({ cluster, directory, server: { identity }, port: ownPort });
  return {
    ...running,
    promote: () => withClient(running.url, async (client) => void (await client.query('SELECT pg_promote()'))),
  };
}

/** A low-level base backup: https://www.postgresql.org/docs/current/continuous-archiving.html#BACKUP-LOWLEVEL-BASE-BACKUP */
async function copyCluster(url: string, copy: string): Promise<void> {
  await withClient(url, async (client) => {
    const original = await valueOf(client, 'SHOW data_directory');
    await client.query('SELECT pg_backup_start($1, true)', [randomUUID()]);
    await copyFolder(original, copy);
    await writeFile(join(copy, 'backup_label'), await valueOf(client, 'SELECT labelfile FROM pg_backup_stop(false)'));
    // The backup's own log.
    await rm(join(copy, 'pg_wal'), { recursive: true });
    await copyFolder(join(original, 'pg_wal'), join(copy, 'pg_wal'));
    for (const name of ['postmaster.pid', 'postmaster.opts']) await rm(join(copy, name), { force: true });
  });
}

async function valueOf(client: pg.Client, sql: string): Promise<string> {
  const { rows } = await client.query<[string]>({ text: sql, rowMode: 'array' });
  return rows[0]?.[0] ?? '';
}

/** The server deletes files while they are copied. */
async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true, mode: 0o700 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) await copyFolder(source, target);
    else if (entry.isFile()) {
      await cp(source, target).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
      });
    }
  }
}

async function chownAll(path: string, user: SystemUser): Promise<void> {
  await chown(path, user.uid, user.gid);
  for (const entry of await readdir(path, { withFileTypes: true, recursive: true }))
    await chown(join(entry.parentPath, entry.name), user.uid, user.gid);
}

async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
