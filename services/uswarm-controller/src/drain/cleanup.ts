import { setTimeout as sleep } from 'node:timers/promises';
import type { ObjectName } from '@uswarm/kube-client';
import { drain, type DrainDeps } from './drain.js';
import { finish } from './finish.js';
import { ReleaseInstalled } from './release-guard.js';

export interface CleanupDeps extends Pick<DrainDeps, 'client' | 'guard' | 'timeoutMs' | 'everyMs' | 'settleMs'> {
  /** The Lease of the controller; none with another framework. */
  lease?: ObjectName | undefined;
  /** Milliseconds for which the release has to stay gone before anything is deleted. */
  goneMs?: number;
  say: (line: string) => void;
  elapsed?: () => number;
}

/** An apply of the whole chart is through in less, in whatever order. */
const GONE_MS = 10_000;
const EVERY_MS = 1_000;
const FINISH_MS = 15_000;

/**
 * Removes the UserSwarms of a release that was deleted without `helm uninstall`. There is no controller any more: the
 * garbage collector deletes the children, and each UserSwarm is there until its pod is gone, or time is up. Does
 * nothing if the release exists.
 *
 * @throws DrainError with UserSwarms left that could not be deleted
 */
export async function cleanUp(deps: CleanupDeps, signal: AbortSignal): Promise<void> {
  const { client, guard, timeoutMs, say } = deps;
  try {
    await awaitGone(deps, signal);
    await drain({ ...deps, runtimeNamespaces: [], graceMs: 0, propagation: 'Foreground' }, signal);
    await guard.check(signal);
    await finish({ client, lease: deps.lease, timeoutMs: Math.min(FINISH_MS, timeoutMs), say }, signal);
  } catch (error) {
    if (!(error instanceof ReleaseInstalled)) throw error;
    say(`Nothing is removed: ${error.message}.`);
  }
}

/** Rights may come a little later than this program, so a refusal is no answer. */
async function awaitGone(deps: CleanupDeps, signal: AbortSignal): Promise<void> {
  const { guard, goneMs = GONE_MS, everyMs = EVERY_MS, timeoutMs, say, elapsed = () => performance.now() } = deps;
  const deadline = elapsed() + timeoutMs;
  let goneSince: number | undefined;
  let failure: string | undefined;
  for (;;) {
    try {
      await guard.check(signal);
      goneSince ??= elapsed();
      if (elapsed() - goneSince >= goneMs) return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ReleaseInstalled || elapsed() >= deadline) throw error;
      goneSince = undefined;
      const { message } = error as Error;
      if (message !== failure) say(`Trying again after a failure: ${message}`);
      failure = message;
    }
    await sleep(everyMs, undefined, { signal });
  }
}
