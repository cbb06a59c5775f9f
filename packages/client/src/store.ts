import { createDraft, type Draft, type Records } from './fold.js';

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
const sameJson = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A value that changes, in the form of React's `useSyncExternalStore`. */
export type Signal<Value> = Omit<ReturnType<typeof computed<Value>>, 'refresh'>;
/** `refresh` computes the value again, and notifies unless it is the same as before. */
export function computed<Value>(compute: () => Value, isSame: (a: Value, b: Value) => boolean = sameJson) {
  const listeners = new Set<(value: Value) => void>();
  let known: { value: Value } | undefined;
  const get = (): Value => (known ??= { value: compute() }).value;
  function refresh(): void {
    const value = compute();
    if (known !== undefined && isSame(known.value, value)) return;
    known = { value };
    // An app error does not stop the client.
    for (const listener of listeners) queueMicrotask(() => listener(value));
  }
  /** @returns a function that ends the subscription */
  function subscribe(listener: (value: Value) => void): () => void {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }
  return { get, getSnapshot: get, refresh, subscribe };
}

export type Database = ReturnType<typeof createDatabase>;
/** Records in all scopes, `scope/key`. Without a store, they are lost when the process ends. */
export function createDatabase(store: Store | undefined, shown: (changes: Records) => void) {
  const records: Records = new Map();
  const unsaved: Records = new Map();
  let tail: Promise<unknown> = Promise.resolve();
  async function apply(change: (draft: Draft) => unknown): Promise<void> {
    const draft = createDraft(records);
    change(draft);
    for (const [key, value] of draft.changes) {
      if (value === undefined) records.delete(key);
      else records.set(key, value);
      if (store && !key.includes('~')) unsaved.set(key, value);
    }
    const changes = [...unsaved].map(([path, value]) => {
      const [scope = '', ...key] = path.split('/');
      return { scope, key: key.join('/'), value };
    });
    // A failed write is repeated with the next change.
    if (changes.length > 0)
      await store?.commit(changes).then(
        () => unsaved.clear(),
        () => undefined,
      );
    shown(draft.changes);
  }
  return {
    records,
    async load(scope: string): Promise<void> {
      for (const [key, value] of (await store?.load(scope)) ?? []) records.set(`${scope}/${key}`, value);
    },
    /** One after the other: changes the records, stores the changes, then shows them. */
    update(change: (draft: Draft) => unknown): Promise<void> {
      const result = tail.then(() => apply(change));
      tail = result.catch(() => undefined);
      return result;
    },
  };
}
