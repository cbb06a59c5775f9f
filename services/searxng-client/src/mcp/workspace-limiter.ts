import { createTokenBuckets } from '@uswarm/service-kit';
import { WebSearchError } from '../errors.js';

export interface WorkspaceLimits {
  /** Searches per workspace and minute, and the burst size. */
  perMinute: number;
  /** Concurrent searches per workspace; further searches wait. */
  concurrent: number;
}

/** A workspace's running and waiting searches. */
interface Searches {
  running: number;
  /** Start the waiting searches, oldest first. */
  waiting: (() => void)[];
}

export interface WorkspaceLimiter {
  /**
   * Runs `task` within the limits, after waiting for the workspace's running searches.
   * @throws WebSearchError `rate_limited`; `cancelled` if `signal` aborts while the task waits
   */
  run<T>(workspaceId: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Waiting searches per workspace: what a runtime sends in one step, from the old and the new runtime in a roll-out. */
const MAX_WAITING = 16;

/**
 * Limits a workspace's searches per minute and concurrent searches: a looping swarm must not get the shared IP address
 * banned by the engines. Counts per process.
 * @param now monotonic milliseconds
 */
export function createWorkspaceLimiter(
  { perMinute, concurrent }: WorkspaceLimits,
  now?: () => number,
): WorkspaceLimiter {
  const buckets = createTokenBuckets(perMinute, now);
  const workspaces = new Map<string, Searches>();

  /** The next search takes over the slot. */
  function end(workspaceId: string, searches: Searches): void {
    const next = searches.waiting.shift();
    if (next !== undefined) return next();
    searches.running -= 1;
    if (searches.running === 0) workspaces.delete(workspaceId);
  }

  return {
    async run(workspaceId, task, signal) {
      const searches = workspaces.get(workspaceId) ?? { running: 0, waiting: [] };
      if (searches.running >= concurrent && searches.waiting.length >= MAX_WAITING) {
        throw new WebSearchError(
          'rate_limited',
          `this workspace already runs ${concurrent} searches and pages; wait for one`,
        );
      }
      const waitMs = buckets.take(workspaceId);
      if (waitMs > 0) {
        const seconds = Math.ceil(waitMs / 1_000);
        throw new WebSearchError(
          'rate_limited',
          `too many searches and pages from this workspace; try again in ${seconds} s`,
        );
      }
      workspaces.set(workspaceId, searches);
      if (searches.running >= concurrent) await ownTurn(searches, signal);
      else searches.running += 1;
      try {
        return await task();
      } finally {
        end(workspaceId, searches);
      }
    },
  };
}

/** Waits until a running search hands over its slot. @throws WebSearchError `cancelled` if `signal` aborts */
function ownTurn({ waiting }: Searches, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = (): void =>
      reject(new WebSearchError('cancelled', 'the search was cancelled', { cause: signal?.reason }));
    const abort = (): void => {
      waiting.splice(waiting.indexOf(start), 1);
      cancel();
    };
    const start = (): void => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    if (signal?.aborted === true) return cancel();
    signal?.addEventListener('abort', abort, { once: true });
    waiting.push(start);
  });
}
