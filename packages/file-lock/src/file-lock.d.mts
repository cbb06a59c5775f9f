import type { ProcessIdentity } from './process-identity.mjs';

/** The process that holds a lock, with the details that it stored. `started` is absent in locks of release 0.2. */
export type Holder = Partial<ProcessIdentity> & { pid: number } & Record<string, unknown>;

export type LockAttempt = { release: () => void; holder?: undefined } | { release?: undefined; holder: Holder };

/**
 * Creates the lock file with the identity of this process and `details`, readable only for its owner. The lock of a process
 * that has ended is taken over. The folder must exist.
 *
 * @returns a function that releases the lock, or the running process that holds it
 */
export function tryLock(file: string, details?: object): LockAttempt;

export interface WaitOptions {
  /** Milliseconds between two attempts. Default: 200 */
  pollMs?: number;
  /** Milliseconds to wait for the lock. Default: no limit */
  waitMs?: number;
  /** Called once if another process holds the lock. */
  onWait?: (holder: Holder) => void;
  /** Ends the wait. */
  signal?: AbortSignal | undefined;
}

/** The lock was not free within `waitMs`. */
export class LockTimeout extends Error {
  readonly holder: Holder;
}

/**
 * Runs `work` while this process holds the lock, and releases the lock also if `work` exits the process.
 *
 * @throws LockTimeout, AbortError if the signal ends the wait, and errors of `work`
 */
export function withFileLock<T>(file: string, work: () => T | Promise<T>, options?: WaitOptions): Promise<T>;
