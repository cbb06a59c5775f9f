/** Sets a value, or deletes it if the value is undefined. */
export type Change = { scope: string; key: string; value: unknown };

/** Where a client keeps what it must not forget. Values are JSON, except files that wait for their upload. */
export interface Store {
  load(scope: string): Promise<[key: string, value: unknown][]>;
  /** All changes or none. */
  commit(changes: readonly Change[]): Promise<void>;
  clear(): Promise<void>;
  close(): Promise<void> | void;
}

/** Forgets everything at the end of the process. */
export function memoryStore(): Store {
  const all = new Map<string, Change>();
  return {
    load: async (scope) => [...all.values()].flatMap((one) => (one.scope === scope ? [[one.key, one.value]] : [])),
    async commit(changes) {
      for (const one of changes) all.set(`${one.scope} ${one.key}`, one);
      for (const [key, { value }] of all) if (value === undefined) all.delete(key);
    },
    clear: async () => all.clear(),
    close: () => undefined,
  };
}

/** A value that changes, in the form of React's `useSyncExternalStore`. */
export interface Signal<Value> {
  get(): Value;
  getSnapshot(): Value;
  /** @returns a function that ends the subscription */
  subscribe(listener: (value: Value) => void): () => void;
}

/** `refresh` computes the value again, and notifies unless it is the same as before. */
export function computed<Value>(compute: () => Value, isSame: (a: Value, b: Value) => boolean = Object.is) {
  const listeners = new Set<(value: Value) => void>();
  let known: { value: Value } | undefined;
  const get = (): Value => (known ??= { value: compute() }).value;
  function refresh(): void {
    const value = compute();
    if (known !== undefined && isSame(known.value, value)) return;
    known = { value };
    for (const listener of listeners) callSafely(() => listener(value));
  }
  return {
    get,
    getSnapshot: get,
    refresh,
    subscribe: (listener: (value: Value) => void) => added(listeners, listener),
  };
}

/** @returns a function that removes it */
export function added<Item>(items: Set<Item>, item: Item): () => void {
  items.add(item);
  return () => void items.delete(item);
}

/** An error of the app is reported like any other one, and does not stop the client. */
export function callSafely(call: () => void): void {
  try {
    call();
  } catch (error) {
    setTimeout(() => Promise.reject(error));
  }
}
