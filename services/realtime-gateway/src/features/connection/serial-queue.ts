export interface SerialQueue {
  /** @returns whether there was room; without room the task never runs. */
  add(task: () => Promise<void>): boolean;
}

/** Runs tasks, which must not throw, one at a time in the order they came; at most `limit` wait or run. */
export function createSerialQueue(limit: number): SerialQueue {
  let size = 0;
  let last: Promise<void> = Promise.resolve();
  return {
    add(task) {
      if (size >= limit) return false;
      size += 1;
      last = last.then(task).finally(() => {
        size -= 1;
      });
      return true;
    },
  };
}
