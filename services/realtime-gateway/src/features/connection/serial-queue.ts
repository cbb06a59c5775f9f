export interface SerialQueue {
  /** @returns false if the queue is full; the task is then not run */
  add(task: () => Promise<void>): boolean;
}

/** Runs tasks, which must not throw, one at a time and in order. At most `limit` are queued or running. */
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
