import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder, withInstallLock } from '@uswarm/dev-servers';
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
  await mkdir(cache, { recursive: true });
  await withInstallLock(join(cache, `${name}.lock`), async () => {
    if (existsSync(folder)) return;
    const draft = await mkdtemp(`${folder}.`);
    try {
      await build(draft);
      const earlier = (await readdir(cache)).filter((entry) => new RegExp(`^${name}-[0-9a-f]{12}$`).test(entry));
      for (const entry of earlier) await rm(join(cache, entry), { recursive: true, force: true });
      await rename(draft, folder);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  });
  return folder;
}
