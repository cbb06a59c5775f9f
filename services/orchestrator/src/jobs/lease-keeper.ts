import type { Logger } from '@uswarm/service-kit';
import type { LeasedJob, JobStore } from './job-store.js';

/** Extends the leases that this process holds, all of them in one statement. */
export interface LeaseKeeper {
  /**
   * Keeps a lease of `leaseMs` until the returned function is called. `onLost` is called once, when somebody else
   * has the row or may have it by now.
   */
  hold(job: LeasedJob, leaseMs: number, onLost: () => void): () => void;
}

export interface LeaseKeeperDeps {
  /** On connections of its own: slow requests must not cost a lease. */
  store: Pick<JobStore, 'extend'>;
  logger: Pick<Logger, 'warn'>;
}

interface Held {
  job: LeasedJob;
  leaseMs: number;
  /** When the lease was known to be held, by the monotonic clock. */
  heldAt: number;
  onLost: () => void;
}

/** Each lease can miss two of its beats. */
const BEATS_PER_LEASE = 3;

export function createLeaseKeeper({ store, logger }: LeaseKeeperDeps): LeaseKeeper {
  const held = new Map<string, Held>();
  let timer: NodeJS.Timeout | undefined;
  let beatMs = Infinity;

  const lose = (lease: Held): void => {
    if (held.get(lease.job.leaseId) !== lease) return;
    held.delete(lease.job.leaseId);
    lease.onLost();
  };

  async function extend(leases: readonly Held[], askedAt: number): Promise<void> {
    const ours = await store.extend(leases.map(({ job, leaseMs }) => ({ job, leaseMs })));
    for (const lease of leases) {
      if (ours.has(lease.job.leaseId)) lease.heldAt = Math.max(lease.heldAt, askedAt);
      else lose(lease);
    }
  }

  function beat(): void {
    const now = performance.now();
    const leases = [...held.values()];
    extend(leases, now).catch((error: unknown) =>
      logger.warn({ err: error, leases: leases.length }, 'leases could not be extended'),
    );
    // Cut off from the database for so long, another process has it by now.
    for (const lease of leases) if (now - lease.heldAt > lease.leaseMs) lose(lease);
  }

  /** One timer for all leases, at the pace of the shortest. */
  function schedule(): void {
    const wanted = Math.min(...[...held.values()].map(({ leaseMs }) => leaseMs)) / BEATS_PER_LEASE;
    if (wanted === beatMs) return;
    clearInterval(timer);
    beatMs = wanted;
    timer = held.size === 0 ? undefined : setInterval(beat, wanted);
  }

  return {
    hold(job, leaseMs, onLost) {
      const lease: Held = { job, leaseMs, heldAt: performance.now(), onLost };
      held.set(job.leaseId, lease);
      schedule();
      return () => {
        if (held.get(job.leaseId) === lease) held.delete(job.leaseId);
        schedule();
      };
    },
  };
}
