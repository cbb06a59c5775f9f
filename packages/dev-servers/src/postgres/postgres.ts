import { existsSync, readFileSync } from 'node:fs';
import { mkdir, realpath, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { freePort } from '../free-port.js';
import { LocalError } from '../local-error.js';
import { writePrivateFile } from '../private-file.js';
import { ownIdentity, type ProcessIdentity, signalProcess, stillRuns } from '../processes.js';
import { keepRunning, type KeptServer } from './keep-running.js';
import { type Cluster, openCluster, SUPERUSER } from './postgres-cluster.js';
import { isPortInUse, isStillStopping, postgresFailure } from './postgres-failure.js';
import { letIn, outsideFolder, postgresPrograms, postgresUser } from './postgres-home.js';
import { markOutside, removeDeleted } from './postgres-outside.js';
import { type LaunchOptions, launchPostgres, PostgresExit, runningPostgres, stopPostgres } from './postgres-process.js';

export interface PostgresOptions {
  /** Server folder; created if it does not exist. The data may be elsewhere. */
  directory: string;
  /** As root, the user of Postgres may enter this folder, which contains `directory`. Default: permissions are not changed. */
  ownFolder?: string;
  /** Default: a free port. */
  port?: number;
  /** Default `<directory>/postgres.log`. */
  logFile?: string;
  /** `false` disables fsync for faster tests. */
  durable?: boolean;
  /** Starts the server again if it ends by itself. Default: false. */
  keepRunning?: boolean;
  onProgress?: (line: string) => void;
}

export interface RunningPostgres {
  /** `postgres://` URL with the superuser and the database `postgres`. */
  url: string;
  port: number;
  pid: number;
  /** The folder with the data if it is not in `directory`. */
  outside: string | undefined;
  /** Creates the database unless it exists. @returns its URL */
  createDatabase(name: string): Promise<string>;
  /** Stops the server; `remove` also deletes its data. */
  close(options?: { remove?: boolean }): Promise<void>;
}

/**
 * Starts a real Postgres on loopback and keeps its data between runs. Stops a killed earlier run's server first.
 * @throws LocalError
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { durable = true, onProgress = () => undefined } = options;
  const user = postgresUser();
  await mkdir(options.directory, { recursive: true });
  const directory = await realpath(options.directory);
  const programs = await postgresPrograms(user);
  if (user !== undefined) {
    if (options.ownFolder !== undefined) letIn(user, directory, options.ownFolder);
    await removeDeleted(directory, onProgress);
  }
  const cluster = await openCluster({ directory, durable, programs, user, onProgress });
  await markOutside(directory, cluster);
  await clearLeftover(cluster, directory, onProgress);
  const launching = {
    dataDirectory: cluster.dataDirectory,
    durable,
    logFile: resolve(options.logFile ?? join(directory, 'postgres.log')),
    programs,
    user,
  };
  const { identity, port } = await launch(launching, options.port);
  writePrivateFile(join(directory, 'owner.json'), `${JSON.stringify(ownIdentity())}\n`);
  const server = { identity };
  const endSupervision =
    options.keepRunning === true
      ? keepRunning({ server, launch: async () => (await launch(launching, port)).identity, onProgress })
      : undefined;
  return runningServer({ cluster, directory, server, port, ...(endSupervision && { endSupervision }) });
}

async function clearLeftover(cluster: Cluster, directory: string, onProgress: (line: string) => void): Promise<void> {
  const running = await runningPostgres(cluster.dataDirectory);
  if (running === undefined) return;
  const owner = readOwner(directory);
  if (owner !== undefined && stillRuns(owner)) {
    throw new LocalError(`The database in ${directory} is in use by process ${owner.pid}; stop it first.`);
  }
  onProgress('Stopping the database that an earlier run left behind');
  await stopPostgres(running);
}

function readOwner(directory: string): ProcessIdentity | undefined {
  const file = join(directory, 'owner.json');
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ProcessIdentity) : undefined;
}

type Launch = Omit<LaunchOptions, 'port'>;

/** Starts the server at the wanted port, or at a free one. @throws LocalError */
export async function launch(
  options: Launch,
  wanted: number | undefined,
): Promise<{ identity: ProcessIdentity; port: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const port = wanted ?? (await freePort());
    try {
      return { identity: await launchPostgres({ ...options, port }), port };
    } catch (error) {
      if (!(error instanceof PostgresExit)) throw error;
      const portTaken = isPortInUse(error.output);
      if (portTaken && wanted !== undefined) {
        throw new LocalError(`Postgres cannot use port ${port}: another program uses it.`, { cause: error });
      }
      const passes = portTaken || isStillStopping(error.output);
      if (!passes || attempt === 20) throw postgresFailure('postgres', error.output, options.logFile);
      await sleep(250);
    }
  }
}

interface Running {
  cluster: Cluster;
  directory: string;
  /** Changes if the server is started again. */
  server: KeptServer;
  port: number;
  endSupervision?: () => Promise<void>;
}

/** A started server. */
export function runningServer({ cluster, directory, server, port, endSupervision }: Running): RunningPostgres {
  const urlOf = (database: string): string =>
    `postgres://${SUPERUSER}:${cluster.password}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  // Stops the server when the process ends without close().
  const lastResort = (): void => {
    if (stillRuns(server.identity)) signalProcess(server.identity.pid, 'SIGINT');
  };
  process.once('exit', lastResort);
  return {
    url: urlOf('postgres'),
    port,
    pid: server.identity.pid,
    outside: outsideFolder(cluster.dataDirectory),
    createDatabase: async (name) => {
      await createDatabase(urlOf('postgres'), name);
      return urlOf(name);
    },
    close: async ({ remove = false } = {}) => {
      process.off('exit', lastResort);
      await endSupervision?.();
      if (stillRuns(server.identity)) await stopPostgres(server.identity);
      await rm(join(directory, 'owner.json'), { force: true });
      if (!remove) return;
      await rm(outsideFolder(cluster.dataDirectory) ?? cluster.dataDirectory, { recursive: true, force: true });
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function createDatabase(url: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`create database ${client.escapeIdentifier(name)}`);
  } catch (error) {
    const exists = (error as { code?: string }).code === '42P04';
    if (!exists) throw error;
  } finally {
    await client.end();
  }
}
