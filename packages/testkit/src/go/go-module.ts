import { cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Go } from '@uswarm/dev-servers';

/** Go module files. */
export interface GoModule {
  path: string;
  version: string;
  /** Paths within the module. */
  files: readonly string[];
}

/** Downloads the module, verified by Go's checksum database, and copies the files to the same paths below `target`. */
export async function copyGoModule(go: Go, { path, version, files }: GoModule, target: string): Promise<void> {
  const { Dir } = JSON.parse(await go(['mod', 'download', '-json', `${path}@${version}`])) as { Dir: string };
  for (const file of files) {
    await mkdir(dirname(join(target, file)), { recursive: true });
    await cp(join(Dir, file), join(target, file));
  }
}
