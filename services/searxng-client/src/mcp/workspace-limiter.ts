import { WebSearchError } from '../errors.js';

export interface WorkspaceLimits {
  /** Searches per workspace and minute, and the size of a burst. */
  perMinute: number;
  /** Concurrent searches per workspace; further searches wait. */
  concurrent: number;
}

interface Usage {
  tokens: number;
  at: number;
  running: number;
  /** Start the waiting searches, oldest first. */
  waiting: (() => void)[];
}

export interface WorkspaceLimiter {
  /**
   * Runs `task` within the limits, after waiting for running searches of the workspace.
   * @throws WebSearchError `rate_limited`; the reason of `signal` if it aborts while the task waits
   */
  run<T>(workspaceId: string, task: () => Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** Waiting searches per workspace: what a runtime sends in one step, from the old and the new runtime of a roll-out. */
const MAX_WAITING = 16;

/** Entries above which idle workspaces are removed. */
const SWEEP_ABOVE = 10_000;

/**
 * A token bucket and a concurrency limit per workspace: a looping swarm must not get the shared IP address banned by the
 * engines. Counts per process.
 * @param now milliseconds of a monotonic clock
 */
export function createWorkspaceLimiter(
  { perMinute, concurrent }: WorkspaceLimits,
  now: () => number = () => performance.now(),
): WorkspaceLimiter {
  const usages = new Map<string, Usage>();
  const perMs = perMinute / 60_000;

  function refilled(usage: Usage): Usage {
    const at = now();
    usage.tokens = Math.min(perMinute, usage.tokens + (at - usage.at) * perMs);
    usage.at = at;
    return usage;
  }

  function usageOf(workspaceId: string): Usage {
    const known = usages.get(workspaceId);
    if (known !== undefined) return refilled(known);
    if (usages.size >= SWEEP_ABOVE) {
      for (const [id, usage] of usages) {
        if (usage.running === 0 && refilled(usage).tokens === perMinute) usages.delete(id);
      }
    }
    const fresh = { tokens: perMinute, at: now(), running: 0, waiting: [] };
    usages.set(workspaceId, fresh);
    return fresh;
  }

  return {
    async run(workspaceId, task, signal) {
      const usage = usageOf(workspaceId);
      if (usage.running >= concurrent && usage.waiting.length >= MAX_WAITING) {
        throw new WebSearchError('rate_limited', `this workspace already runs ${concurrent} searches; wait for one`);
      }
      if (usage.tokens < 1) {
        const seconds = Math.ceil((1 - usage.tokens) / perMs / 1_000);
        throw new WebSearchError('rate_limited', `too many searches from this workspace; try again in ${seconds} s`);
      }
      usage.tokens -= 1;
      if (usage.running >= concurrent) await ownTurn(usage, signal);
      else usage.running += 1;
      try {
        return await task();
      } finally {
        // The next search takes over the slot.
        const next = usage.waiting.shift();
        if (next === undefined) usage.running -= 1;
        else next();
      }
    },
  };
}

/** Waits until a running search hands over its slot. @throws the reason of `signal` */
function ownTurn({ waiting }: Usage, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = (): void => {
      waiting.splice(waiting.indexOf(start), 1);
      reject(signal?.reason);
    };
    const start = (): void => {
      signal?.removeEventListener('abort', abort);
      resolve();
    };
    if (signal?.aborted === true) return void reject(signal.reason);
    signal?.addEventListener('abort', abort, { once: true });
    waiting.push(start);
  });
}
