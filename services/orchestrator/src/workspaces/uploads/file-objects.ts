import { createWriteStream } from 'node:fs';
import { mkdir, open, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type ObjectStore, ObjectMissing } from '../../records/object-store.js';

/** Stores objects as files in a local folder. Several processes on one machine can use the folder. */
export function createFileObjects(directory: string): ObjectStore {
  const pathOf = (key: string): string => {
    if (!/^[\w-]+$/.test(key)) throw new Error('a key is one word');
    // Ids end in random characters, which distributes the files evenly over subfolders.
    return join(directory, key.slice(-2), key);
  };
  const partOf = (key: string): string => `${pathOf(key)}.part`;

  return {
    async put(key, content) {
      const [path, part] = [pathOf(key), partOf(key)];
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await pipeline(content, createWriteStream(part, { mode: 0o600, flush: true }));
        await rename(part, path);
        await syncFolder(dirname(path));
      } catch (error) {
        // A stream that is not consumed blocks its source.
        content.destroy();
        await rm(part, { force: true });
        throw error;
      }
    },

    async open(key, range) {
      const file = await open(pathOf(key), 'r').catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT' ? new ObjectMissing(key) : error;
      });
      return file.createReadStream(range ?? {});
    },

    async remove(key) {
      await rm(partOf(key), { force: true });
      await rm(pathOf(key), { force: true });
    },

    close: () => undefined,
  };
}

/** A rename is durable only after its folder is synced. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
