/**
 * Hands out places on a machine that runs a limited number of runtimes. A runtime has a place from its admission until
 * its process has ended for good; a crashed process is started again in its place. If no place is free, a start waits
 * in a queue, first come, first served, and the runtime that has been idle for longest is evicted: the reconciler
 * suspends it as soon as nothing uses it. All state is in memory, and every operation is synchronous.
 */
export interface RuntimePool {
  /** @returns false if the runtime waits in the queue */
  admit(workspaceId: string): boolean;
  /** Gives a place to a process that is already running, even if there are too many. */
  adopt(workspaceId: string): void;
  release(workspaceId: string): void;
  /** After a failed start: other starts come first. */
  requeue(workspaceId: string): void;
  isQueued(workspaceId: string): boolean;
  isEvicted(workspaceId: string): boolean;
  /** As `isEvicted`, for the reconciler: a runtime that was kept before can be evicted again. */
  mustYield(workspaceId: string): boolean;
  /**
   * For an evicted runtime with work: another runtime is evicted instead. This one can be evicted again once its work
   * ends or `mustYield` is called.
   */
  keep(workspaceId: string): void;
  /** Protects the runtime from eviction during work. @returns a function to call when the work ends */
  use(workspaceId: string): () => void;
}

export interface RuntimePoolOptions {
  /** 0: no limit. */
  places: number;
  /** Called when a runtime got a place, or is evicted: it must be reconciled. */
  requestReconcile: (workspaceId: string) => void;
}

interface Place {
  /** Increases with each activity in the pool: the lowest one has been idle for longest. */
  activeAt: number;
  evicted: boolean;
  /** Evicted before, and kept for its work. */
  kept: boolean;
}

export function createRuntimePool({ places, requestReconcile }: RuntimePoolOptions): RuntimePool {
  const limit = places === 0 ? Infinity : places;
  const holders = new Map<string, Place>();
  const queue = new Set<string>();
  /** Turns and other calls in progress. */
  const uses = new Map<string, number>();
  let activity = 0;

  const take = (workspaceId: string): void =>
    void holders.set(workspaceId, { activeAt: (activity += 1), evicted: false, kept: false });

  function handOver(): void {
    for (const next of queue) {
      if (holders.size >= limit) return;
      queue.delete(next);
      take(next);
      requestReconcile(next);
    }
  }

  /** Evicts as many runtimes as starts wait. `reconciled` needs no further reconcile to find out. */
  function evict(reconciled: string | undefined): void {
    const evicted = [...holders.values()].filter((place) => place.evicted);
    const missing = holders.size + queue.size - limit - evicted.length;
    // Starts that no longer wait: the runtimes that were active last are kept.
    const spared = evicted.toSorted((a, b) => b.activeAt - a.activeAt).slice(0, Math.max(0, -missing));
    for (const place of spared) place.evicted = false;
    const idle = [...holders]
      .filter(([workspaceId, { evicted: isEvicted, kept }]) => !isEvicted && !kept && !uses.has(workspaceId))
      .toSorted(([, a], [, b]) => a.activeAt - b.activeAt)
      .slice(0, Math.max(0, missing));
    for (const [workspaceId, place] of idle) {
      place.evicted = true;
      if (workspaceId !== reconciled) requestReconcile(workspaceId);
    }
  }

  function settle(reconciled?: string): void {
    if (limit === Infinity) return;
    handOver();
    evict(reconciled);
  }

  function ended(workspaceId: string): void {
    const left = (uses.get(workspaceId) ?? 1) - 1;
    if (left > 0) return void uses.set(workspaceId, left);
    uses.delete(workspaceId);
    const place = holders.get(workspaceId);
    if (place === undefined) return;
    Object.assign(place, { activeAt: (activity += 1), kept: false });
    settle();
  }

  const pool: RuntimePool = {
    admit(workspaceId) {
      if (holders.has(workspaceId)) return true;
      if (queue.has(workspaceId)) return false;
      if (holders.size < limit) take(workspaceId);
      else {
        queue.add(workspaceId);
        settle();
      }
      return holders.has(workspaceId);
    },
    adopt(workspaceId) {
      if (holders.has(workspaceId)) return;
      queue.delete(workspaceId);
      take(workspaceId);
      settle();
    },
    release(workspaceId) {
      queue.delete(workspaceId);
      holders.delete(workspaceId);
      settle();
    },
    requeue(workspaceId) {
      if (queue.size === 0 || !holders.delete(workspaceId)) return;
      queue.add(workspaceId);
      settle();
    },
    isQueued: (workspaceId) => queue.has(workspaceId),
    isEvicted: (workspaceId) => holders.get(workspaceId)?.evicted ?? false,
    mustYield(workspaceId) {
      const place = holders.get(workspaceId);
      if (place?.kept === true) {
        place.kept = false;
        settle(workspaceId);
      }
      return pool.isEvicted(workspaceId);
    },
    keep(workspaceId) {
      const place = holders.get(workspaceId);
      if (place === undefined) return;
      Object.assign(place, { evicted: false, kept: true });
      settle();
    },
    use(workspaceId) {
      uses.set(workspaceId, (uses.get(workspaceId) ?? 0) + 1);
      const place = holders.get(workspaceId);
      if (place?.evicted === true) {
        place.evicted = false;
        settle();
      }
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        ended(workspaceId);
      };
    },
  };
  return pool;
}
