import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { withInstallLock } from '../install-lock.js';
import { LocalError } from '../local-error.js';
import { type InstallOptions, installPythonProgram, type PythonProgram } from '../python/python-packages.js';

/** A file that is too large for one package, so that several packages each have a part of it. */
export interface SplitFile extends PythonProgram {
  /** Paths in the packages folder, in their order. */
  parts: readonly string[];
  /** Of the whole file, in hexadecimal. */
  sha256: string;
}

/** Joins a file’s parts. An existing `target` is complete. @throws LocalError if a part is missing, or the whole differs */
export async function joinParts(
  { title, parts, sha256 }: Pick<SplitFile, 'title' | 'parts' | 'sha256'>,
  folder: string,
  target: string,
): Promise<void> {
  const hash = createHash('sha256');
  async function* bytes(): AsyncGenerator<Buffer> {
    for (const part of parts) {
      for await (const piece of createReadStream(join(folder, part)) as AsyncIterable<Buffer>) {
        hash.update(piece);
        yield piece;
      }
    }
  }
  const draft = `${target}.draft`;
  try {
    await pipeline(bytes, createWriteStream(draft));
    if (hash.digest('hex') !== sha256)
      throw new LocalError(`${title}: the joined parts do not have the expected hash.`);
    await rename(draft, target);
  } catch (error) {
    await rm(draft, { force: true });
    const { code, path } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') throw error;
    throw new LocalError(`${title}: ${path} is missing.`, { cause: error });
  }
}

/**
 * Installs the packages, joins the parts, and removes the packages. Does nothing if the file is there.
 *
 * @returns its path. @throws LocalError if it cannot be installed; the signal's reason
 */
export async function installSplitFile(file: SplitFile, options: InstallOptions): Promise<string> {
  const { directory, signal, onProgress } = options;
  const target = join(directory, `${file.name}-${file.sha256.slice(0, 12)}`);
  if (await exists(target)) return target;
  await mkdir(directory, { recursive: true });
  const install = async (): Promise<void> => {
    if (await exists(target)) return;
    await removeDrafts(target);
    const draft = await mkdtemp(`${target}.parts-`);
    try {
      const { packages } = await installPythonProgram(file, { ...options, directory: draft });
      onProgress?.(`Joining the parts of ${file.title}`);
      await joinParts(file, packages, target);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  };
  await withInstallLock(join(directory, `${file.name}.lock`), install, { signal });
  return target;
}

/** Removes what killed installations left. */
async function removeDrafts(target: string): Promise<void> {
  const folder = dirname(target);
  const names = (await readdir(folder)).filter((name) => join(folder, name).startsWith(`${target}.`));
  for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
}

const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
