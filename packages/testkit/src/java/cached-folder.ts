import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { withInstallLock } from '@uswarm/dev-servers';

/**
 * Fills a folder unless it exists. Safe to call from several processes concurrently; the folder is never incomplete.
 *
 * @param fill writes to an empty folder, which is then renamed
 */
export async function cachedFolder(folder: string, fill: (draft: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await withInstallLock(`${folder}.lock`, async () => {
    if (existsSync(folder)) return;
    const draft = await mkdtemp(`${folder}.`);
    try {
      await fill(draft);
      await rename(draft, folder);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  });
}
