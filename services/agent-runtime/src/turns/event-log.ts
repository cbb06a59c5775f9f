/**
 * An append-only list for any number of readers. Each reader has only a cursor, so a slow or disconnected one costs nothing.
 */
export interface EventLog<E> {
  readonly length: number;
  readonly closed: boolean;
  /** @throws Error if the log is closed */
  append(event: E): void;
  /** Ends all readers after the last event, or throws `failure` to them. Later calls have no effect. */
  close(failure?: Error): void;
  /** The events after the first `from`, including future ones. Ends immediately when `signal` aborts. */
  read(from: number, signal: AbortSignal): AsyncGenerator<E, void, undefined>;
}

export function createEventLog<E>(): EventLog<E> {
  const events: E[] = [];
  const waiting = new Set<() => void>();
  let end: { failure: Error | undefined } | undefined;

  const wakeAll = (): void => {
    for (const wake of waiting) wake();
  };

  const changed = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const wake = (): void => {
        waiting.delete(wake);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      waiting.add(wake);
      signal.addEventListener('abort', wake);
    });

  return {
    get length() {
      return events.length;
    },
    get closed() {
      return end !== undefined;
    },
    append(event) {
      if (end !== undefined) throw new Error('the log is closed');
      events.push(event);
      wakeAll();
    },
    close(failure) {
      end ??= { failure };
      wakeAll();
    },
    async *read(from, signal) {
      let cursor = from;
      while (!signal.aborted) {
        const event = events[cursor];
        if (event !== undefined) {
          cursor += 1;
          yield event;
        } else if (end === undefined) {
          await changed(signal);
        } else {
          if (end.failure !== undefined) throw end.failure;
          return;
        }
      }
    },
  };
}
