import { randomUUID } from 'node:crypto';
import { linkSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '@uswarm/service-kit';
import { LocalError, ownIdentity, stillRuns, writePrivateFile } from '@uswarm/testkit';
import { z } from 'zod';

const lock = z.object({ pid: z.int().positive(), started: z.string(), url: z.string() });

/**
 * Locks a folder for this process. The lock of a process that has ended is taken over; pid and start time identify it.
 * @returns a function that releases the lock. @throws LocalError if another instance runs
 */
export function lockFolder(directory: string, url: string): () => void {
  const file = join(directory, 'lock');
  const content = `${JSON.stringify({ ...ownIdentity(), url })}\n`;
  for (let attempt = 0; attempt < 10; attempt += 1) {
    if (createLock(file, content)) {
      return () => {
        if (read(file) === content) rmSync(file, { force: true });
      };
    }
    const found = read(file);
    if (found !== undefined) {
      refuseIfLive(directory, found);
      removeStale(file, found);
    }
  }
  throw new LocalError(`The data folder ${directory} cannot be locked: too many instances are starting.`);
}

/** Creating a link is atomic and never replaces an existing file. */
function createLock(file: string, content: string): boolean {
  const draft = `${file}.${randomUUID()}`;
  writePrivateFile(draft, content);
  try {
    linkSync(draft, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

function refuseIfLive(directory: string, content: string): void {
  const holder = lock.safeParse(parseJson(content)).data;
  if (holder === undefined || !stillRuns(holder)) return;
  throw new LocalError(
    `Another instance (pid ${holder.pid}, ${holder.url}) already uses the data folder ${directory}; ` +
      'stop it first, or set USWARM_DATA_DIR to another folder.',
  );
}

/** Moves the lock aside and checks it again, because another process may have taken it over. */
function removeStale(file: string, stale: string): void {
  const aside = `${file}.${randomUUID()}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  const moved = read(aside);
  if (moved !== undefined && moved !== stale) createLock(file, moved);
  rmSync(aside, { force: true });
}
