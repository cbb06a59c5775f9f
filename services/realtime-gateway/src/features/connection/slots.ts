import { ApiError } from '@uswarm/contract';

/** Limits how many tasks run concurrently; the others wait in the order they came. */
export interface Slots {
  /**
   * Resolves when it is the caller's turn.
   *
   * @returns gives the slot back
   * @throws the reason of `signal` when it is aborted first, or ApiError `service_unavailable` when too many wait
   */
  take(signal: AbortSignal): Promise<() => void>;
  /** How many wait for their turn. */
  waiting(): number;
}

export interface SlotLimits {
  /** Slots that may be taken at the same time. */
  concurrent: number;
  /** Callers that may wait. */
  queued: number;
}

export function createSlots({ concurrent, queued }: SlotLimits): Slots {
  const waiters = new Set<() => void>();
  let taken = 0;

  const giveBack = (): (() => void) => {
    let given = false;
    return () => {
      if (given) return;
      given = true;
      const [next] = waiters;
      // The slot passes directly to the next caller, so later callers do not overtake.
      if (next === undefined) taken -= 1;
      else next();
    };
  };

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (taken < concurrent) {
        taken += 1;
        return giveBack();
      }
      if (waiters.size >= queued) throw new ApiError('service_unavailable');
      await new Promise<void>((resolve, reject) => {
        const leave = (): void => {
          waiters.delete(start);
          reject(signal.reason);
        };
        const start = (): void => {
          waiters.delete(start);
          signal.removeEventListener('abort', leave);
          resolve();
        };
        waiters.add(start);
        signal.addEventListener('abort', leave, { once: true });
      });
      return giveBack();
    },
    waiting: () => waiters.size,
  };
}
