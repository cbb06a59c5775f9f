import { type Backoff, backoffDelay } from '@uswarm/service-kit';

/**
 * Keys that want work. A key waits at most once; while it is worked on, it is not given out again,
 * and what is added in between makes it wait again once it is done.
 */
export interface WorkQueue {
  add(key: string): void;
  /** Adds it after `ms`, or when an earlier such wish for the key falls due. */
  addAfter(key: string, ms: number): void;
  /** Adds it after a pause that doubles with each time, until `forget`; `atLeastMs` for a server that named a time. */
  retry(key: string, atLeastMs?: number): void;
  /** It went well: the next pause is short again. */
  forget(key: string): void;
  /** How often it has been retried since it was last forgotten. */
  retries(key: string): number;
  /** Nobody wants it any more: no pause, no later wish. */
  drop(key: string): void;
  /** The next key, as soon as there is one; undefined once closed or aborted. Follow with `done`. */
  next(signal?: AbortSignal): Promise<string | undefined>;
  done(key: string): void;
  /** Nobody works any more: no key waits, now or later. */
  clear(): void;
  /** Keys that wait for a worker. */
  depth(): number;
  close(): void;
}

export interface WorkQueueOptions {
  backoff: Backoff;
  /** Milliseconds that pass. */
  now?: () => number;
  random?: () => number;
  /** Told how long a key has waited for a worker, in ms. */
  onWaited?: (ms: number) => void;
}

/** Milliseconds; Node fires a longer timer after one millisecond. */
const MAX_TIMER_MS = 2_147_483_647;

interface Timed {
  due: number;
  timer: NodeJS.Timeout;
}

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { backoff, now = () => performance.now(), random = Math.random, onWaited = () => {} } = options;
  /** In the order in which they were added, with the time when. */
  const waiting = new Map<string, number>();
  const active = new Set<string>();
  /** Added while active. */
  const again = new Set<string>();
  const delayed = new Map<string, Timed>();
  const failures = new Map<string, number>();
  const takers = new Set<Taker>();
  let closed = false;

  const undelay = (key: string): void => {
    clearTimeout(delayed.get(key)?.timer);
    delayed.delete(key);
  };
  const take = (): string | undefined => {
    for (const [key, since] of waiting) {
      waiting.delete(key);
      active.add(key);
      onWaited(now() - since);
      return key;
    }
    return undefined;
  };
  const add = (key: string): void => {
    if (closed) return;
    if (active.has(key)) {
      again.add(key);
      return;
    }
    if (!waiting.has(key)) waiting.set(key, now());
    for (const taker of takers) {
      takers.delete(taker);
      taker(take());
      return;
    }
  };
  const addAfter = (key: string, ms: number): void => {
    if (closed) return;
    const due = now() + ms;
    const known = delayed.get(key);
    if (known !== undefined && known.due <= due) return;
    undelay(key);
    const wait = (leftMs: number): void => {
      const step = Math.min(leftMs, MAX_TIMER_MS);
      const timer = setTimeout(() => {
        if (leftMs > step) {
          wait(leftMs - step);
          return;
        }
        delayed.delete(key);
        add(key);
      }, step);
      delayed.set(key, { due, timer });
    };
    wait(ms);
  };
  const clear = (): void => {
    for (const key of delayed.keys()) undelay(key);
    for (const keys of [waiting, again, failures]) keys.clear();
  };
  return {
    add,
    addAfter,
    retry(key, atLeastMs = 0) {
      const attempt = failures.get(key) ?? 0;
      failures.set(key, attempt + 1);
      addAfter(key, atLeastMs + backoffDelay(backoff, attempt, random));
    },
    forget: (key) => void failures.delete(key),
    retries: (key) => failures.get(key) ?? 0,
    drop(key) {
      failures.delete(key);
      again.delete(key);
      waiting.delete(key);
      undelay(key);
    },
    async next(signal) {
      if (closed || signal?.aborted === true) return undefined;
      return take() ?? (await waitForKey(takers, signal));
    },
    done(key) {
      active.delete(key);
      if (again.delete(key)) add(key);
    },
    clear,
    depth: () => waiting.size,
    close() {
      closed = true;
      clear();
      for (const taker of takers) taker(undefined);
      takers.clear();
    },
  };
}

type Taker = (key: string | undefined) => void;

function waitForKey(takers: Set<Taker>, signal?: AbortSignal): Promise<string | undefined> {
  return new Promise((resolve) => {
    const stop = (): void => {
      takers.delete(taker);
      resolve(undefined);
    };
    const taker: Taker = (key) => {
      signal?.removeEventListener('abort', stop);
      resolve(key);
    };
    signal?.addEventListener('abort', stop, { once: true });
    takers.add(taker);
  });
}
