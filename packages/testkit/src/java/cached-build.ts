import { createHash } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '@uswarm/dev-servers';
import { cachedFolder } from './cached-folder.js';
import { CLIENT_TOOLS } from './client-generator.js';

/**
 * Builds a folder in the user's cache unless it was built from the same inputs before. Only the newest one of each name is kept.
 *
 * @param inputs everything that the result depends on, beside the tools for clients
 * @param build writes to an empty folder
 * @returns the folder
 */
export async function cachedBuild(
  name: string,
  inputs: readonly string[],
  build: (target: string) => Promise<void>,
): Promise<string> {
  const cache = cacheFolder();
  const hash = createHash('sha256').update(JSON.stringify([CLIENT_TOOLS, inputs]));
  const folder = join(cache, `${name}-${hash.digest('hex').slice(0, 12)}`);
  await cachedFolder(folder, async (draft) => {
    await build(draft);
    const earlier = (await readdir(cache)).filter((entry) => new RegExp(`^${name}-[0-9a-f]{12}$`).test(entry));
    for (const entry of earlier) await rm(join(cache, entry), { recursive: true, force: true });
  });
  return folder;
}
