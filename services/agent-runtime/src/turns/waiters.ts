/** Lets any number of callers wait for a state. */
export interface Waiters {
  /** Checks all states again. */
  changed(): void;
  /** Resolves when `isReached` returns true. @throws the reason of `signal` */
  until(isReached: () => boolean, signal: AbortSignal): Promise<void>;
}

export function createWaiters(): Waiters {
  const waiting = new Set<() => void>();
  return {
    changed() {
      for (const check of waiting) check();
    },
    until: (isReached, signal) =>
      new Promise((resolve, reject) => {
        const end = (): void => {
          waiting.delete(check);
          signal.removeEventListener('abort', check);
        };
        const check = (): void => {
          if (!signal.aborted && !isReached()) return;
          end();
          if (signal.aborted) reject(signal.reason as Error);
          else resolve();
        };
        waiting.add(check);
        signal.addEventListener('abort', check);
        check();
      }),
  };
}
