import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { processIsAlive } from '@uswarm/file-lock/process-identity';
import { z } from 'zod';
import { Failure } from './failure.js';

const LocalFile = z.object({
  url: z.url(),
  issuer: z.url(),
  pid: z.int().positive(),
});

/** Addresses and process of running local mode. */
export type LocalFile = z.output<typeof LocalFile>;

const NOT_RUNNING = 'uswarm is not running here. Start it with: npm start';

/**
 * Reads `<data dir>/local.json`.
 * @throws Failure when it does not exist, is invalid, or its process has ended
 */
export async function readLocalFile(dataDir: string, isAlive = processIsAlive): Promise<LocalFile> {
  const path = join(dataDir, 'local.json');
  const text = await readFile(path, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const missing = cause.code === 'ENOENT' || cause.code === 'ENOTDIR';
    throw new Failure(missing ? NOT_RUNNING : `${path} cannot be read (${cause.code}).`, { cause });
  });
  const local = parseLocalFile(text, path);
  if (!isAlive(local.pid)) throw new Failure(NOT_RUNNING);
  return local;
}

function parseLocalFile(text: string, path: string): LocalFile {
  try {
    return LocalFile.parse(JSON.parse(text));
  } catch (cause) {
    throw new Failure(`${path} is invalid. Start uswarm again with: npm start`, { cause });
  }
}
