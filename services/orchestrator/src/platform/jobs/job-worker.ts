import { backoffDelay, type Logger } from '@uswarm/service-kit';
import type { LeaseKeeper } from './lease-keeper.js';
import { createPollLoop } from './poll-loop.js';
import type { JobMetrics } from './job-metrics.js';
import type { LeasedJob, JobQueue } from './job-queue.js';

export type JobResult =
  | {
      done: true;
      /** The handler has completed the job in the transaction of its last write. */
      isCompleted?: true;
    }
  | { againInMs: number };

export interface JobWorkerDeps {
  kind: string;
  store: Pick<JobQueue, 'claim' | 'complete' | 'release'>;
  /** Extends all leases in this process. */
  leases: LeaseKeeper;
  logger: Logger;
  concurrency: number;
  /** The signal aborts when the lease is lost or the worker stops. */
  handle: (job: LeasedJob, signal: AbortSignal) => Promise<JobResult>;
  /** Called before a job is handled. Returns a function that is called after the result is stored. */
  onRun?: ((job: LeasedJob) => () => void) | undefined;
  /** Called if a job may be due that this process has no free worker for. */
  forward?: () => void;
  metrics?: JobMetrics | undefined;
  leaseMs?: number;
}

export interface JobWorker {
  /** Claims due jobs. @param isForwarded true if other processes know of them */
  poll(isForwarded?: boolean): void;
  /** Stops claiming jobs, aborts the running handlers and waits for them. Leases are released or expire. */
  close(): Promise<void>;
}

/** After a crash the job stays leased for this long; then another replica claims it. */
const LEASE_MS = 10_000;
const RETRY = { initialMs: 1_000, maxMs: 30_000 };
const TICK_MS = 100;
const LONGEST_TIMER_MS = 60_000;

/**
 * Claims due jobs of one type at its start and when it is polled, extends their leases while they are handled, and
 * completes or releases them.
 */
export function createJobWorker(deps: JobWorkerDeps): JobWorker {
  const { kind, store, leases, concurrency, handle, metrics, leaseMs = LEASE_MS } = deps;
  const logger = deps.logger.child({ job: kind });
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();
  /** Ticks at which jobs that this process has released are due. */
  const ticks = new Set<number>();

  /** Polls as soon as the job is due, once per tick for all jobs. */
  async function releaseFor(job: LeasedJob, delayMs: number, failed = false): Promise<void> {
    await store.release(job, delayMs, failed);
    const now = performance.now();
    const tick = Math.ceil((now + delayMs) / TICK_MS);
    if (delayMs > LONGEST_TIMER_MS || ticks.has(tick) || stopping.signal.aborted) return;
    ticks.add(tick);
    setTimeout(
      () => {
        ticks.delete(tick);
        loop?.runNow();
      },
      tick * TICK_MS - now,
    ).unref();
  }

  async function run(job: LeasedJob): Promise<void> {
    const lost = new AbortController();
    const onEnd = deps.onRun?.(job);
    const releaseLease = leases.hold(job, leaseMs, () => lost.abort());
    try {
      const result = await handle(job, AbortSignal.any([lost.signal, stopping.signal]));
      if ('againInMs' in result) await releaseFor(job, result.againInMs);
      else if (result.isCompleted !== true) await store.complete(job);
      metrics?.handled(kind, 'done' in result ? 'done' : 'again');
    } catch (error) {
      if (!stopping.signal.aborted) {
        metrics?.handled(kind, 'failed');
        logger.warn({ err: error, subject: job.subjectId }, 'job failed; will retry');
      }
      // A handler that this process interrupts at its end has not failed: another process continues immediately.
      const failed = !stopping.signal.aborted;
      await releaseFor(job, failed ? backoffDelay(RETRY, job.failures) : 0, failed).catch(() => undefined);
    } finally {
      releaseLease();
      onEnd?.();
    }
  }

  async function takeDue(): Promise<boolean> {
    const free = concurrency - running.size;
    if (free <= 0) return false;
    const claimed = await store.claim(kind, free, leaseMs);
    for (const job of claimed) {
      if (job.takenOver) {
        metrics?.takenOver(kind);
        logger.info({ subject: job.subjectId }, 'expired lease taken over');
      }
      const task = run(job).finally(() => {
        running.delete(task);
        loop?.runNow();
      });
      running.add(task);
    }
    return claimed.length === free;
  }

  const loop =
    concurrency === 0
      ? undefined
      : createPollLoop({
          round: takeDue,
          onError: (error) => logger.warn({ err: error }, 'claiming due jobs failed'),
        });
  return {
    poll(isForwarded = false) {
      if (!isForwarded && running.size >= concurrency) deps.forward?.();
      loop?.runNow();
    },
    async close() {
      stopping.abort();
      await loop?.close();
      await Promise.all(running);
    },
  };
}
