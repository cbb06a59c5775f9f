import { type Backoff, backoffDelay } from '@uswarm/service-kit';

/**
 * A rate-limited work queue. A key is queued at most once. While a key is processed, it is not handed out again; if it
 * is added meanwhile, it is queued again after `done`.
 */
export interface WorkQueue {
  add(key: string): void;
  /** Adds the key after `ms`, or earlier if an earlier delayed add for it is pending. */
  addAfter(key: string, ms: number): void;
  /** Adds the key with exponential back-off, reset by `forget`; `atLeastMs` is the minimum delay (Retry-After). */
  retry(key: string, atLeastMs?: number): void;
  /** Resets the key's back-off. */
  forget(key: string): void;
  /** Number of retries since the last `forget`. */
  retries(key: string): number;
  /** Removes the key with its back-off and delayed adds. */
  drop(key: string): void;
  /** Resolves to the next key, or to undefined once closed or aborted. Call `done` afterwards. */
  next(signal?: AbortSignal): Promise<string | undefined>;
  done(key: string): void;
  /** Removes all keys, including delayed ones. */
  clear(): void;
  /** Number of queued keys. */
  depth(): number;
  close(): void;
}

export interface WorkQueueOptions {
  backoff: Backoff;
  /** Monotonic milliseconds. */
  now?: () => number;
  random?: () => number;
  /** Called with the milliseconds that a key was queued. */
  onWaited?: (ms: number) => void;
}

/** Longest timer in milliseconds; Node fires a longer one after one millisecond. */
const MAX_TIMER_MS = 2_147_483_647;

interface Timed {
  due: number;
  timer: NodeJS.Timeout;
}

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { backoff, now = () => performance.now(), random = Math.random, onWaited = () => {} } = options;
  /** Queued keys in insertion order, with their insertion times. */
  const waiting = new Map<string, number>();
  const active = new Set<string>();
  /** Keys that were added while being processed. */
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
