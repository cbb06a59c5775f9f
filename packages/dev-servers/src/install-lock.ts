import { LockTimeout, withFileLock } from '@uswarm/file-lock';
import { LocalError } from './local-error.js';

const WAIT_MS = 15 * 60_000;

/**
 * Runs `task` while this process holds the lock file.
 *
 * @throws LocalError after `waitMs` (default: 15 minutes)
 */
export async function withInstallLock<T>(file: string, task: () => Promise<T>, waitMs = WAIT_MS): Promise<T> {
  try {
    return await withFileLock(file, task, { waitMs });
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error;
    throw new LocalError(`Another installation (pid ${error.holder.pid}) holds ${file}.`, { cause: error });
  }
}
