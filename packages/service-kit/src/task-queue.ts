/** Rejects a task because too many wait already. */
export class QueueFull extends Error {
  override name = 'QueueFull';
}

export interface TaskQueueLimits {
  /** Tasks that run at the same time. */
  concurrent: number;
  /** Tasks that wait. Default: any number. */
  maxWaiting?: number;
}

export interface TaskOptions {
  /** Keys take turns, so that the tasks of one user delay those of another by one task each. */
  key?: unknown;
  /** Ends the wait. A task that runs must watch it itself. */
  signal?: AbortSignal | undefined;
}

/** Limits concurrent tasks. The others wait: in their order, and in turn between their keys. */
export interface TaskQueue {
  /** @throws QueueFull; the signal's reason if it aborts before the task starts; the error of `task` */
  run<T>(task: () => Promise<T>, options?: TaskOptions): Promise<T>;
  /**
   * Waits for a place.
   *
   * @returns a function that gives the place back
   * @throws QueueFull; the signal's reason
   */
  take(options?: TaskOptions): Promise<() => void>;
  /** Number of waiting tasks. */
  waiting(): number;
}

interface Waiter {
  start(): void;
  refuse(reason: unknown): void;
}

/** One key's tasks. */
interface Line {
  running: number;
  waiting: Set<Waiter>;
}

// Packages such as p-queue rank tasks by a number, and know neither turns between users nor a limit for those who wait.
export function createTaskQueue({ concurrent, maxWaiting = Infinity }: TaskQueueLimits): TaskQueue {
  /** Keys that have tasks. A key goes to the end whenever one of its tasks ends. */
  const lines = new Map<unknown, Line>();
  let running = 0;
  let waiting = 0;

  function begin(line: Line): void {
    running += 1;
    line.running += 1;
  }

  function leave(key: unknown, line: Line, waiter: Waiter): void {
    line.waiting.delete(waiter);
    waiting -= 1;
    if (line.running + line.waiting.size === 0) lines.delete(key);
  }

  function end(key: unknown, line: Line): void {
    running -= 1;
    line.running -= 1;
    lines.delete(key);
    if (line.running + line.waiting.size > 0) lines.set(key, line);
    // Starts at once: a task that comes now must not overtake.
    waiterInTurn()?.start();
  }

  function waiterInTurn(): Waiter | undefined {
    const [first, ...others] = [...lines.values()].filter((line) => line.waiting.size > 0);
    const line = others.reduce((best, other) => (best && best.running <= other.running ? best : other), first);
    return line?.waiting.values().next().value;
  }

  /** Takes a place from the key that has the most, so that one user cannot keep all others out. */
  function makeRoom({ waiting: own }: Line): void {
    const longest = [...lines.values()].reduce((most, { waiting: of }) => (of.size > most.size ? of : most), own);
    const full = new QueueFull('too many tasks are waiting');
    if (longest.size <= own.size + 1) throw full;
    [...longest].at(-1)?.refuse(full);
  }

  async function take({ key, signal }: TaskOptions = {}): Promise<() => void> {
    signal?.throwIfAborted();
    const line = lines.get(key) ?? { running: 0, waiting: new Set() };
    if (running < concurrent) {
      lines.set(key, line);
      begin(line);
    } else {
      if (waiting >= maxWaiting) makeRoom(line);
      lines.set(key, line);
      await turn(key, line, signal);
    }
    let isTaken = true;
    return () => {
      if (isTaken) end(key, line);
      isTaken = false;
    };
  }

  function turn(key: unknown, line: Line, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        start() {
          begin(line);
          stopWaiting();
          resolve();
        },
        refuse(reason) {
          stopWaiting();
          reject(reason);
        },
      };
      const abort = (): void => waiter.refuse(signal?.reason);
      const stopWaiting = (): void => {
        leave(key, line, waiter);
        signal?.removeEventListener('abort', abort);
      };
      waiting += 1;
      line.waiting.add(waiter);
      signal?.addEventListener('abort', abort, { once: true });
    });
  }

  return {
    take,
    async run(task, options) {
      const giveBack = await take(options);
      try {
        options?.signal?.throwIfAborted();
        return await task();
      } finally {
        giveBack();
      }
    },
    waiting: () => waiting,
  };
}
