/** Limits concurrent searches to one per user and a total. The others wait in order. */
export interface SearchSlots {
  /** @throws the abort reason if the signal aborts while the search waits; errors of `run` */
  run<T>(userId: string, signal: AbortSignal, run: () => Promise<T>): Promise<T>;
}

interface Waiting {
  userId: string;
  start: () => void;
}

/** Searches use at most a quarter of the connections, so that other requests are not starved. */
export const maxConcurrentSearches = (maxConnections: number): number => Math.max(1, Math.floor(maxConnections / 4));

export function createSearchSlots(maxConcurrent: number): SearchSlots {
  const running = new Set<string>();
  const waiting = new Set<Waiting>();

  function startNext(): void {
    for (const next of waiting) {
      if (running.size >= maxConcurrent) return;
      if (running.has(next.userId)) continue;
      waiting.delete(next);
      running.add(next.userId);
      next.start();
    }
  }

  async function turn(userId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const own: Waiting = { userId, start: resolve };
    const leave = (): void => {
      if (waiting.delete(own)) reject(signal.reason as Error);
    };
    signal.addEventListener('abort', leave, { once: true });
    waiting.add(own);
    startNext();
    await promise.finally(() => signal.removeEventListener('abort', leave));
  }

  return {
    async run(userId, signal, run) {
      await turn(userId, signal);
      try {
        return await run();
      } finally {
        running.delete(userId);
        startNext();
      }
    },
  };
}
