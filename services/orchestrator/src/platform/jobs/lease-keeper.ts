import type { Logger } from '@uswarm/service-kit';
import type { HeldLease, LeasedJob, JobQueue } from './job-queue.js';

/** Extends all this process's leases in one statement, unless another statement has extended them. */
export interface LeaseKeeper {
  /**
   * Extends a lease of `leaseMs` periodically until the returned function is called. `onLost` is called once when the
   * lease is lost or may have expired.
   */
  hold(job: LeasedJob, leaseMs: number, onLost: () => void): () => void;
  /** This process's leases, for another statement that extends them too. */
  all(): HeldLease[];
  /** Reports that a statement, sent at `askedAt` on the monotonic clock, has extended these leases. */
  extended(leaseIds: readonly string[], askedAt: number): void;
}

export interface LeaseKeeperDeps {
  /** A store on separate connections: slow requests must not delay lease extensions. */
  store: Pick<JobQueue, 'extend'>;
  logger: Pick<Logger, 'warn'>;
}

interface Held {
  job: LeasedJob;
  leaseMs: number;
  /** Time on the monotonic clock at which the lease was last known to be held. */
  heldAt: number;
  onLost: () => void;
}

/** A lease survives a missed extension. */
const BEATS_PER_LEASE = 3;
/** A timer can end a little early. */
const TOLERANCE_MS = 50;

export function createLeaseKeeper({ store, logger }: LeaseKeeperDeps): LeaseKeeper {
  const held = new Map<string, Held>();
  let timer: NodeJS.Timeout | undefined;
  let lastBeatAt = 0;

  const lose = (lease: Held): void => {
    if (held.get(lease.job.leaseId) !== lease) return;
    held.delete(lease.job.leaseId);
    lease.onLost();
  };

  async function extend(leases: readonly Held[], askedAt: number): Promise<void> {
    const stillHeld = await store.extend(leases.map(({ job, leaseMs }) => ({ job, leaseMs })));
    for (const lease of leases) {
      if (stillHeld.has(lease.job.leaseId)) lease.heldAt = Math.max(lease.heldAt, askedAt);
      else lose(lease);
    }
  }

  const beatMs = (): number => Math.min(...[...held.values()].map(({ leaseMs }) => leaseMs)) / BEATS_PER_LEASE;

  function beat(): void {
    const now = performance.now();
    lastBeatAt = now;
    schedule();
    const leases = [...held.values()];
    const due = leases.filter(({ heldAt }) => now - heldAt >= beatMs() - TOLERANCE_MS);
    if (due.length > 0)
      extend(due, now).catch((error: unknown) =>
        logger.warn({ err: error, leases: due.length }, 'leases could not be extended'),
      );
    // Without contact to the database for this long, another process may have claimed the job.
    for (const lease of leases) if (now - lease.heldAt > lease.leaseMs) lose(lease);
  }

  /** Runs one timer for all leases, at the shortest lease's interval. Jobs that start and end do not delay it. */
  function schedule(): void {
    clearTimeout(timer);
    if (held.size === 0) return;
    timer = setTimeout(beat, Math.max(0, lastBeatAt + beatMs() - performance.now()));
  }

  return {
    hold(job, leaseMs, onLost) {
      const now = performance.now();
      const lease: Held = { job, leaseMs, heldAt: now, onLost };
      if (held.size === 0) lastBeatAt = now;
      held.set(job.leaseId, lease);
      schedule();
      return () => {
        if (held.get(job.leaseId) === lease) held.delete(job.leaseId);
        schedule();
      };
    },
    all: () => [...held.values()].map(({ job, leaseMs }) => ({ job, leaseMs })),
    extended(leaseIds, askedAt) {
      for (const leaseId of leaseIds) {
        const lease = held.get(leaseId);
        if (lease !== undefined) lease.heldAt = Math.max(lease.heldAt, askedAt);
      }
    },
  };
}
