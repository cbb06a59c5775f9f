/** Milliseconds per call. */
interface CallTimes {
  /** Without progress. */
  idleMs: number;
  /** With progress. */
  totalMs: number;
}

/** Calls `over` once when a call exceeds one of its times. */
export function createCallTimes({ idleMs, totalMs }: CallTimes, over: () => void) {
  let paused = 0;
  let ended = false;
  let left = totalMs;
  let began = performance.now();
  let idle: NodeJS.Timeout | undefined;
  let total: NodeJS.Timeout | undefined;

  function run(): void {
    began = performance.now();
    idle = setTimeout(over, idleMs);
    total = setTimeout(over, left);
  }

  function pause(): void {
    clearTimeout(idle);
    clearTimeout(total);
  }

  run();
  return {
    progress: (): void => void (paused === 0 && idle?.refresh()),

    end(): void {
      ended = true;
      pause();
    },

    /** Stops the times while a task runs. */
    async without<T>(task: () => Promise<T>): Promise<T> {
      if (paused === 0) {
        pause();
        left = Math.max(0, left - (performance.now() - began));
      }
      paused += 1;
      try {
        return await task();
      } finally {
        paused -= 1;
        if (paused === 0 && !ended) run();
      }
    },
  };
}
