import { LockTimeout, type WaitOptions, withFileLock } from '@uswarm/file-lock';
import { LocalError } from './local-error.js';

const WAIT_MS = 15 * 60_000;

/**
 * Runs `task` while this process holds the lock file.
 *
 * @throws LocalError after 15 minutes or `waitMs`; AbortError if the signal ends the wait
 */
export async function withInstallLock<T>(file: string, task: () => Promise<T>, options: WaitOptions = {}): Promise<T> {
  try {
    return await withFileLock(file, task, { waitMs: WAIT_MS, ...options });
  } catch (error) {
    if (!(error instanceof LockTimeout)) throw error;
    throw new LocalError(`Another installation (pid ${error.holder.pid}) holds ${file}.`, { cause: error });
  }
}
