export interface CallSlots {
  /**
   * Runs `task` as soon as a slot is free. Owners take turns, so the calls of one owner delay another owner by one call each.
   * @throws the error of `task`; the reason of `signal` if it aborts before the start
   */
  run<T>(owner: object, signal: AbortSignal, task: () => Promise<T>): Promise<T>;
}

/** Limits concurrent calls to `limit`. */
export function createCallSlots(limit: number): CallSlots {
  let free = limit;
  // Insertion order is the order of service.
  const waiting = new Map<object, (() => void)[]>();

  function release(): void {
    const [owner, starts = []] = waiting.entries().next().value ?? [];
    const start = starts.shift();
    if (owner === undefined || start === undefined) {
      free += 1;
      return;
    }
    waiting.delete(owner);
    if (starts.length > 0) waiting.set(owner, starts);
    start();
  }

  function remove(owner: object, start: () => void): void {
    const rest = waiting.get(owner)?.filter((other) => other !== start) ?? [];
    if (rest.length > 0) waiting.set(owner, rest);
    else waiting.delete(owner);
  }

  function acquire(owner: object, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (free > 0) {
      free -= 1;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const abort = (): void => {
        remove(owner, start);
        reject(signal.reason);
      };
      const start = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      signal.addEventListener('abort', abort, { once: true });
      waiting.set(owner, [...(waiting.get(owner) ?? []), start]);
    });
  }

  return {
    async run(owner, signal, task) {
      await acquire(owner, signal);
      try {
        return await task();
      } finally {
        release();
      }
    },
  };
}
