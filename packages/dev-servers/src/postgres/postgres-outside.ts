import { existsSync, readdirSync } from 'node:fs';
import { link, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJson } from '@uswarm/service-kit';
import { z } from 'zod';
import { writePrivateFile } from '../private-file.js';
import { type Cluster, describedCluster } from './postgres-cluster.js';
import { folderHash, outsideFolder, ROOT_HOME } from './postgres-home.js';
import { runningPostgres } from './postgres-process.js';

// A cluster outside of its folder has a marker, which is one file with two names: here and in that folder. It has one name left
// when the folder was deleted, but still two when it was moved.
const HERE = 'folder.json';
const THERE = 'database-marker.json';

const marker = z.object({
  directory: z.string(),
  /** False if the two places are on different disks, so that nothing is known about the folder. */
  linked: z.boolean(),
});

/** Marks a cluster that is outside of its folder. Also after the folder was moved. */
export async function markOutside(directory: string, cluster: Cluster): Promise<void> {
  const home = outsideFolder(cluster.dataDirectory);
  if (home === undefined) return;
  const [here, there] = [join(home, HERE), join(directory, THERE)];
  const known = await readMarker(home);
  if (known?.directory === directory && (await isOneFile(here, there))) return;
  const write = (linked: boolean): void => writePrivateFile(here, `${JSON.stringify({ directory, linked })}\n`);
  await rm(there, { force: true });
  write(true);
  await link(here, there).catch(() => write(false));
}

/** Deletes outside clusters whose folders were deleted, so that nothing of a deleted folder remains. */
export async function removeDeleted(directory: string, onProgress: (line: string) => void): Promise<void> {
  const names = existsSync(ROOT_HOME) ? readdirSync(ROOT_HOME) : [];
  for (const name of names.filter((each) => /^[0-9a-f]{12}-[0-9a-f]{8}$/.test(each))) {
    const home = join(ROOT_HOME, name);
    const state = await stateOf(home, directory);
    if (state === 'deleted') {
      onProgress(`Deleting the database in ${home}, whose data folder was deleted`);
      await rm(home, { recursive: true, force: true });
    }
    if (state === 'unknown') {
      onProgress(`An earlier database of this folder is in ${home}: delete it if you no longer need it`);
    }
  }
}

/** `unknown`: an earlier cluster of `directory`, without a way to tell whether its folder was deleted or moved. */
async function stateOf(home: string, directory: string): Promise<'kept' | 'deleted' | 'unknown'> {
  const known = await readMarker(home);
  if (await belongsTo(home, known?.directory ?? directory)) return 'kept';
  if (known?.linked === true) {
    const { nlink } = await stat(join(home, HERE));
    const isUsed = nlink > 1 || (await runningPostgres(join(home, 'data'))) !== undefined;
    return isUsed ? 'kept' : 'deleted';
  }
  const isOurs = (known?.directory ?? '') === directory || home.startsWith(join(ROOT_HOME, folderHash(directory)));
  return isOurs ? 'unknown' : 'kept';
}

async function belongsTo(home: string, directory: string): Promise<boolean> {
  const cluster = await describedCluster(directory).catch(() => undefined);
  return cluster !== undefined && outsideFolder(cluster.dataDirectory) === home;
}

async function readMarker(home: string): Promise<z.infer<typeof marker> | undefined> {
  const text = await readFile(join(home, HERE), 'utf8').catch(() => '');
  return marker.safeParse(parseJson(text)).data;
}

async function isOneFile(first: string, second: string): Promise<boolean> {
  const [one, other] = await Promise.all([first, second].map((file) => stat(file).catch(() => undefined)));
  return one !== undefined && one.ino === other?.ino && one.dev === other.dev;
}
