import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { LocalError } from '../local-error.js';
import { writePrivateFile } from '../private-file.js';
import { postgresFailure } from './postgres-failure.js';
import { newDataDirectory, type PostgresPrograms, type SystemUser } from './postgres-home.js';

export const SUPERUSER = 'postgres';

const description = z.object({ password: z.string().min(1), data_directory: z.string().min(1) });

/** A database cluster on disk. */
export interface Cluster {
  dataDirectory: string;
  password: string;
}

export interface ClusterOptions {
  /** Cluster folder; the data may be elsewhere, see `newDataDirectory`. */
  directory: string;
  durable: boolean;
  programs: PostgresPrograms;
  user: SystemUser | undefined;
  onProgress: (line: string) => void;
}

/** Opens a folder's cluster, or creates it. @throws LocalError */
export async function openCluster(options: ClusterOptions): Promise<Cluster> {
  const { directory, onProgress, programs } = options;
  const existing = await describedCluster(directory);
  if (existing !== undefined) {
    await checkVersion(existing, directory, programs);
    return existing;
  }
  onProgress('Creating the database');
  const { dataDirectory, outsideBecause } = newDataDirectory(directory, options.user);
  if (outsideBecause !== undefined) onProgress(`It is in ${dirname(dataDirectory)}, because ${outsideBecause}`);
  const cluster = { dataDirectory, password: randomBytes(24).toString('base64url') };
  await createCluster(cluster, options);
  describeCluster(directory, cluster);
  return cluster;
}

/** Makes `openCluster` find a folder's cluster. */
export function describeCluster(directory: string, { dataDirectory: data_directory, password }: Cluster): void {
  writePrivateFile(join(directory, 'cluster.json'), `${JSON.stringify({ password, data_directory })}\n`);
}

export async function describedCluster(directory: string): Promise<Cluster | undefined> {
  const file = join(directory, 'cluster.json');
  if (!existsSync(file)) return undefined;
  const parsed = description.safeParse(parseJson(await readFile(file, 'utf8')));
  if (!parsed.success) {
    throw new LocalError(`${file} cannot be read; restore it, or delete ${directory} to start with an empty database.`);
  }
  const { password, data_directory: described } = parsed.data;
  // A folder that was moved has its data inside, at another place than before.
  const inside = join(directory, 'data');
  return { password, dataDirectory: !existsSync(described) && existsSync(inside) ? inside : described };
}

async function checkVersion(cluster: Cluster, directory: string, programs: PostgresPrograms): Promise<void> {
  const { dataDirectory } = cluster;
  const found = await readFile(join(dataDirectory, 'PG_VERSION'), 'utf8').catch(() => undefined);
  if (found === undefined) {
    throw new LocalError(
      `The database that belongs to ${directory} is no longer at ${dataDirectory}; ` +
        `restore it, or delete ${directory} to start with an empty database.`,
    );
  }
  const [major, current] = [found.trim(), programs.version.split('.')[0]];
  if (major !== current) {
    throw new LocalError(
      `The database in ${directory} was created by Postgres ${major}, but this version runs Postgres ${current}; ` +
        `use that version again, or move ${directory} away to start with an empty database.`,
    );
  }
}

/** Creates the cluster in a temporary folder and renames it, so that a killed start leaves no partial cluster. */
async function createCluster(cluster: Cluster, options: ClusterOptions): Promise<void> {
  const { user } = options;
  const home = dirname(cluster.dataDirectory);
  const outside = home !== options.directory;
  await mkdir(home, { recursive: true });
  // Independent of the umask: the server's user needs access.
  if (outside) await Promise.all([home, dirname(home)].map((folder) => chmod(folder, 0o755)));
  const draft = join(home, 'data.draft');
  const passwordFile = join(home, 'password.draft');
  try {
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    await writeFile(passwordFile, cluster.password, { mode: 0o600 });
    if (user !== undefined) {
      await chown(draft, user.uid, user.gid);
      await chown(passwordFile, user.uid, user.gid);
    }
    await runInitdb(draft, passwordFile, options);
    await rename(draft, cluster.dataDirectory);
  } catch (error) {
    await rm(outside ? home : draft, { recursive: true, force: true });
    throw error;
  } finally {
    await rm(passwordFile, { force: true });
  }
}

/** Uses the builtin locale, so that the sort order is equal on all machines. */
async function runInitdb(draft: string, passwordFile: string, options: ClusterOptions): Promise<void> {
  const { durable, programs, user } = options;
  const args = [
    `--pgdata=${draft}`,
    `--username=${SUPERUSER}`,
    `--pwfile=${passwordFile}`,
    '--auth=scram-sha-256',
    '--encoding=UTF8',
    '--locale=C',
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    ...(durable ? [] : ['--no-sync']),
  ];
  const child = spawn(programs.initdb, args, {
    cwd: '/',
    env: postgresEnvironment(),
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(user === undefined ? {} : { uid: user.uid, gid: user.gid }),
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      output += `error: ${error.message}`;
      resolve(null);
    });
    child.once('close', resolve);
  });
  if (code !== 0) throw postgresFailure('initdb', output);
}

/** A minimal environment: PGDATA or a missing locale would change the behaviour of Postgres. */
export function postgresEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' };
}
