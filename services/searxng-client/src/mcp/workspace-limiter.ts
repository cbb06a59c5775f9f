import { WebSearchError } from '../errors.js';

export interface WorkspaceLimits {
  /** Searches per workspace and minute, and the size of a burst. */
  perMinute: number;
  /** Concurrent searches per workspace. */
  concurrent: number;
}

interface Usage {
  tokens: number;
  at: number;
  running: number;
}

export interface WorkspaceLimiter {
  /** Runs `task` within the limits. @throws WebSearchError `rate_limited` */
  run<T>(workspaceId: string, task: () => Promise<T>): Promise<T>;
}

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
    const fresh = { tokens: perMinute, at: now(), running: 0 };
    usages.set(workspaceId, fresh);
    return fresh;
  }

  return {
    async run(workspaceId, task) {
      const usage = usageOf(workspaceId);
      if (usage.running >= concurrent) {
        throw new WebSearchError('rate_limited', `this workspace already runs ${concurrent} searches; wait for one`);
      }
      if (usage.tokens < 1) {
        const seconds = Math.ceil((1 - usage.tokens) / perMs / 1_000);
        throw new WebSearchError('rate_limited', `too many searches from this workspace; try again in ${seconds} s`);
      }
      usage.tokens -= 1;
      usage.running += 1;
      try {
        return await task();
      } finally {
        usage.running -= 1;
      }
    },
  };
}
