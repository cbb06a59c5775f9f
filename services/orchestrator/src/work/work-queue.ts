import { backoffDelay, type Logger } from '@uswarm/service-kit';
import type { LeaseKeeper } from './lease-keeper.js';
import { createWakeableLoop } from './wakeable-loop.js';
import type { WorkMetrics } from './work-metrics.js';
import type { LeasedWork, WorkStore } from './work.store.js';

/** What is to become of a row after its handler ran. */
export type WorkResult = { done: true } | { againInMs: number };

export interface WorkQueueDeps {
  kind: string;
  store: Pick<WorkStore, 'claim' | 'complete' | 'release'>;
  /** Keeps the leases of all queues of this process. */
  leases: LeaseKeeper;
  logger: Logger;
  /** Rows handled at once by this process. */
  concurrency: number;
  /** The signal aborts when the lease is lost or the queue stops. */
  handle: (work: LeasedWork, signal: AbortSignal) => Promise<WorkResult>;
  metrics?: WorkMetrics | undefined;
  leaseMs?: number;
  pollMs?: number;
}

export interface WorkQueue {
  /** Looks for due work now instead of at the next poll. */
  wake(): void;
  /** Stops taking work, aborts what runs, and waits for it. Leases run out or are released. */
  close(): Promise<void>;
}

/** A crash leaves the row leased for this long; then another replica takes it over. */
const LEASE_MS = 10_000;
const POLL_MS = 500;
const RETRY = { initialMs: 1_000, maxMs: 30_000 };

/** Takes due rows of one kind, keeps their leases alive while they are handled, and gives them back. */
export function createWorkQueue(deps: WorkQueueDeps): WorkQueue {
  const { kind, store, leases, concurrency, handle, metrics, leaseMs = LEASE_MS, pollMs = POLL_MS } = deps;
  const logger = deps.logger.child({ work: kind });
  const stopping = new AbortController();
  const running = new Set<Promise<void>>();

  async function run(work: LeasedWork): Promise<void> {
    const lost = new AbortController();
    const letGo = leases.hold(work, leaseMs, () => lost.abort());
    try {
      const result = await handle(work, AbortSignal.any([lost.signal, stopping.signal]));
      if ('done' in result) await store.complete(work);
      else await store.release(work, result.againInMs);
      metrics?.handled(kind, 'done' in result ? 'done' : 'again');
    } catch (error) {
      if (!stopping.signal.aborted) {
        metrics?.handled(kind, 'failed');
        logger.warn({ err: error, subject: work.subjectId }, 'work failed; it is tried again');
      }
      await store.release(work, backoffDelay(RETRY, work.failures), true).catch(() => undefined);
    } finally {
      letGo();
    }
  }

  async function takeDue(): Promise<boolean> {
    const free = concurrency - running.size;
    if (free <= 0) return false;
    const claimed = await store.claim(kind, free, leaseMs);
    for (const work of claimed) {
      if (work.takenOver) {
        metrics?.takenOver(kind);
        logger.info({ subject: work.subjectId }, 'a lease was taken over');
      }
      const task = run(work).finally(() => {
        running.delete(task);
        loop?.wake();
      });
      running.add(task);
    }
    return claimed.length === free;
  }

  const loop =
    concurrency === 0
      ? undefined
      : createWakeableLoop({
          round: takeDue,
          pollMs,
          onError: (error) => logger.warn({ err: error }, 'due work could not be read'),
        });
  return {
    wake: () => loop?.wake(),
    async close() {
      stopping.abort();
      await loop?.close();
      await Promise.all(running);
    },
  };
}
