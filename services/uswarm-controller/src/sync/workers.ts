import type { KubernetesObject } from '@uswarm/kube-client';
import type { Clock, Logger } from '@uswarm/service-kit';
import { untilResync } from '../queue/resync.js';
import type { WorkQueue } from '../queue/work-queue.js';
import { emptyMemory, type Memory, type SyncOptions, type SyncResult } from './sync.js';

export interface WorkersDeps {
  queue: WorkQueue;
  workers: number;
  resyncMs: number;
  sync: (key: string, options: SyncOptions) => Promise<SyncResult>;
  parentOf: (key: string) => KubernetesObject | undefined;
  onSynced: (outcome: SyncResult['outcome'] | 'error', seconds: number, reason?: string) => void;
  onGone: (uid: string) => void;
  clock: Clock;
  logger: Pick<Logger, 'warn'>;
}

export interface Workers {
  /** Runs until aborted; resolves when no reconcile is in progress. */
  run(signal: AbortSignal): Promise<void>;
  /** Seconds since the least recently reconciled UserSwarm was reconciled; 0 without UserSwarms and on standby. */
  oldestReconcileAgeS(): number;
}

interface Known {
  uid: string;
  memory: Memory;
  /** First observation, or end of the last reconcile, in monotonic milliseconds. */
  since: number;
}

/** Reconciles keys from the queue concurrently, and each of them again within the resync period. */
export function createWorkers(deps: WorkersDeps): Workers {
  const memories = new Map<string, Known>();
  const forget = (key: string): void => {
    const known = memories.get(key);
    if (known !== undefined) deps.onGone(known.uid);
    memories.delete(key);
  };

  const work = async (key: string, signal: AbortSignal): Promise<void> => {
    const start = performance.now();
    const done = (outcome: SyncResult['outcome'] | 'error', reason?: string): void =>
      deps.onSynced(outcome, (performance.now() - start) / 1_000, reason);
    const uid = deps.parentOf(key)?.metadata.uid;
    if (memories.get(key)?.uid !== uid) forget(key);
    const known = memories.get(key) ?? { uid: uid ?? '', memory: emptyMemory(), since: start };
    if (uid !== undefined) memories.set(key, known);
    try {
      const failures = deps.queue.retries(key);
      const result = await deps.sync(key, { memory: known.memory, failures, signal });
      if (result.outcome === 'gone') forget(key);
      schedule(deps, key, result);
      done(result.outcome, result.reason);
      if (result.error !== undefined)
        deps.logger.warn({ userswarm: key, why: errorText(result.error) }, 'reconcile failed');
    } catch (error) {
      if (signal.aborted) return;
      deps.logger.warn({ err: error, userswarm: key }, 'reconcile failed');
      done('error');
      schedule(deps, key, { outcome: 'failed' });
    } finally {
      known.since = performance.now();
      // It was deleted during the reconcile, and no other reconcile will observe that.
      if (deps.parentOf(key) === undefined) forget(key);
    }
  };
  const loop = async (signal: AbortSignal): Promise<void> => {
    for (;;) {
      const key = await deps.queue.next(signal);
      if (key === undefined) return;
      await work(key, signal);
      deps.queue.done(key);
    }
  };
  return {
    async run(signal) {
      await Promise.all(Array.from({ length: deps.workers }, () => loop(signal)));
      // A standby replica does not observe deletions.
      for (const key of memories.keys()) forget(key);
    },
    oldestReconcileAgeS() {
      const now = performance.now();
      let longest = 0;
      // No spread: a call's number of arguments is limited.
      for (const { since } of memories.values()) longest = Math.max(longest, now - since);
      return longest / 1_000;
    },
  };
}

/** Schedules the next reconcile. */
function schedule({ queue, parentOf, clock, resyncMs }: WorkersDeps, key: string, result: SyncResult): void {
  const { outcome, requeue = false, resyncAfterS, retryAfterMs } = result;
  const parent = parentOf(key);
  if (parent === undefined) {
    queue.drop(key);
    return;
  }
  if (outcome === 'failed' || (outcome === 'again' && !requeue)) queue.retry(key, retryAfterMs);
  else queue.forget(key);
  if (requeue) queue.add(key);
  if (resyncAfterS !== undefined) queue.addAfter(key, resyncAfterS * 1_000);
  queue.addAfter(key, untilResync(parent.metadata.uid ?? key, clock.now().getTime(), resyncMs));
}

/** The error as one sentence, without a stack trace. */
function errorText({ message, cause }: Error): string {
  return cause instanceof Error && !message.includes(cause.message) ? `${message}: ${cause.message}` : message;
}
