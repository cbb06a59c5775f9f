import { ApiError } from '@uswarm/contract';

/** Limits the number of concurrent callers; the others are queued in order. */
export interface Slots {
  /**
   * Resolves when the caller gets a slot.
   *
   * @returns releases the slot
   * @throws the reason of `signal` if it is aborted first, or ApiError `service_unavailable` if the queue is full
   */
  take(signal: AbortSignal): Promise<() => void>;
  /** Number of queued callers. */
  waiting(): number;
}

export interface SlotLimits {
  /** Number of slots. */
  concurrent: number;
  /** Maximum number of queued callers. */
  queued: number;
}

export function createSlots({ concurrent, queued }: SlotLimits): Slots {
  const waiters = new Set<() => void>();
  let taken = 0;

  const createRelease = (): (() => void) => {
    let released = false;
    return () => {
      if (released) return;
      released = true;
      const [next] = waiters;
      // The slot passes directly to the next caller, so that a later caller cannot overtake it.
      if (next === undefined) taken -= 1;
      else next();
    };
  };

  return {
    async take(signal) {
      signal.throwIfAborted();
      if (taken < concurrent) {
        taken += 1;
        return createRelease();
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
      return createRelease();
    },
    waiting: () => waiters.size,
  };
}
