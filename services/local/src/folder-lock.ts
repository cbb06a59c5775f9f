import { join } from 'node:path';
import { tryLock } from '@uswarm/file-lock';
import { LocalError } from '@uswarm/dev-servers';

/**
 * Locks a folder for this process.
 * @returns a function that releases the lock. @throws LocalError if another instance runs
 */
export function lockFolder(directory: string, url: string): () => void {
  const { release, holder } = tryLock(join(directory, 'lock'), { url });
  if (release !== undefined) return release;
  throw new LocalError(
    `Another instance (pid ${holder.pid}, ${String(holder['url'])}) already uses the data folder ${directory}; ` +
      'stop it first, or set USWARM_DATA_DIR to another folder.',
  );
}
