import type { ObjectName } from '@uswarm/kube-client';
import { drain, type DrainDeps } from './drain.js';
import { finish } from './finish.js';
import { createFailurePrinter, runPasses } from './passes.js';
import { ReleaseInstalled } from './release-guard.js';

export interface CleanupDeps extends Pick<DrainDeps, 'client' | 'guard' | 'timeoutMs' | 'everyMs' | 'settleMs'> {
  /** The controller's Lease; undefined with Metacontroller. */
  lease?: ObjectName | undefined;
  /** Milliseconds for which the release must be absent before anything is deleted. */
  goneMs?: number;
  print: (line: string) => void;
  elapsed?: () => number;
}

/** Longer than it takes to apply the whole chart, in milliseconds. */
const GONE_MS = 10_000;
const EVERY_MS = 1_000;
const FINISH_MS = 15_000;

/**
 * Deletes the UserSwarms that remain after a release was removed without `helm uninstall`. The controller no longer
 * exists, so the garbage collector deletes the children. Each UserSwarm exists until its pod is deleted or the timeout
 * is exceeded. Does nothing if the release is installed.
 *
 * @throws DrainError if UserSwarms could not be deleted
 */
export async function cleanUp(deps: CleanupDeps, signal: AbortSignal): Promise<void> {
  const { client, guard, timeoutMs, print } = deps;
  try {
    await awaitGone(deps, signal);
    await drain({ ...deps, runtimeNamespaces: [], graceMs: 0, propagation: 'Foreground' }, signal);
    await guard.check(signal);
    await finish({ client, lease: deps.lease, timeoutMs: Math.min(FINISH_MS, timeoutMs), print }, signal);
  } catch (error) {
    if (!(error instanceof ReleaseInstalled)) throw error;
    print(`Nothing was removed: ${error.message}.`);
  }
}

/** RBAC rules may be applied after this Job starts, so a 403 is retried. */
async function awaitGone(deps: CleanupDeps, signal: AbortSignal): Promise<void> {
  const { guard, goneMs = GONE_MS, everyMs = EVERY_MS, timeoutMs, print, elapsed = () => performance.now() } = deps;
  const deadline = elapsed() + timeoutMs;
  const failures = createFailurePrinter(print);
  let absentSince: number | undefined;
  const pass = async (): Promise<boolean> => {
    await guard.check(signal);
    failures.succeeded();
    absentSince ??= elapsed();
    return elapsed() - absentSince >= goneMs;
  };
  const onFailure = (error: Error): void => {
    if (elapsed() >= deadline) throw error;
    absentSince = undefined;
    failures.failed(error);
  };
  await runPasses({ pass, onFailure, everyMs }, signal);
}
