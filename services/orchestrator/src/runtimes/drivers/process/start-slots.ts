/** Limits concurrent process starts, because a start is CPU-bound. */
export interface StartSlots {
  /** Waits for a slot. @returns a function that gives it back @throws the signal's reason */
  take(signal?: AbortSignal): Promise<() => void>;
}

export function createStartSlots(limit: number): StartSlots {
  let free = limit;
  const waiting = new Set<() => void>();

  const giveBack = (): void => {
    const [next] = waiting;
    if (next === undefined) free += 1;
    else next();
  };
  const slot = (): (() => void) => {
    let isTaken = true;
    return () => {
      if (isTaken) giveBack();
      isTaken = false;
    };
  };

  return {
    async take(signal) {
      signal?.throwIfAborted();
      if (free > 0) free -= 1;
      else await turnIn(waiting, signal);
      return slot();
    },
  };
}

function turnIn(waiting: Set<() => void>, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = (): void => {
      waiting.delete(proceed);
      signal?.removeEventListener('abort', abort);
    };
    const proceed = (): void => {
      leave();
      resolve();
    };
    const abort = (): void => {
      leave();
      reject(signal?.reason as Error);
    };
    waiting.add(proceed);
    signal?.addEventListener('abort', abort);
  });
}
