export interface ClosableWork {
  /** @param work its signal is aborted with `signal`, and when the owner is closed */
  run<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
  /** Aborts what runs, and waits for its end. */
  close(): Promise<void>;
}

/** @param reason the abort reason after `close` */
export function createClosableWork(reason: string): ClosableWork {
  const closing = new AbortController();
  const running = new Set<Promise<unknown>>();
  return {
    run(signal, work) {
      const result = work(AbortSignal.any([signal, closing.signal]));
      const settled = result.then(
        () => undefined,
        () => undefined,
      );
      running.add(settled);
      void settled.finally(() => running.delete(settled));
      return result;
    },
    async close() {
      closing.abort(new Error(reason));
      await Promise.all(running);
    },
  };
}
