import { cp, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Go } from './go.js';

/** A Go module of which only files are wanted. */
export interface GoModule {
  path: string;
  version: string;
  /** Paths in the module. */
  files: readonly string[];
}

/** Fetches the module, checks it by Go's checksum database, and copies its files, by their paths, below `target`. */
export async function copyGoModule(go: Go, { path, version, files }: GoModule, target: string): Promise<void> {
  const { Dir } = JSON.parse(await go(['mod', 'download', '-json', `${path}@${version}`])) as { Dir: string };
  for (const file of files) {
    await mkdir(dirname(join(target, file)), { recursive: true });
    await cp(join(Dir, file), join(target, file));
  }
}
