/** Runs at most `width` tasks at the same time, in their order; at most `length` wait. */
export function createQueue(width: number, length: number) {
  const waiting: (() => void)[] = [];
  let busy = 0;

  const turn = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      const start = () => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      const abort = () => {
        waiting.splice(waiting.indexOf(start), 1);
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', abort, { once: true });
      waiting.push(start);
    });

  return {
    /** @returns undefined when the queue is full */
    async run<T>(signal: AbortSignal, task: () => Promise<T>): Promise<T | undefined> {
      if (busy >= width) {
        if (waiting.length >= length) return undefined;
        // The task before gives its place away.
        await turn(signal);
      } else busy += 1;
      try {
        return await task();
      } finally {
        const next = waiting.shift();
        if (next === undefined) busy -= 1;
        else next();
      }
    },
  };
}
