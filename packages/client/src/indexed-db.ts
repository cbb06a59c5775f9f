import { openDB } from 'idb';
import type { Change, Store } from './store.js';

const NAME = 'values';
declare const IDBKeyRange: { bound(from: unknown, to: unknown): object };
type Locks = { request(name: string, callback: () => Promise<void>): Promise<void> };

/**
 * Keeps the state in the browser. One tab at a time stores what it received; all of them store what they send, and each shows it.
 * @param name one per user, if several use the same browser without signing out
 */
export function indexedDb(name: string): Store {
  const database = openDB(name, 1, { upgrade: (created) => void created.createObjectStore(NAME) });
  const { locks } = (globalThis.navigator ?? {}) as { locks?: Locks };
  let [isOwner, release] = [locks === undefined, (): void => undefined];
  const held = new Promise<void>((resolve) => (release = resolve));
  void locks?.request(`uswarm ${name}`, () => ((isOwner = true), held));

  async function commit(changes: readonly Change[]): Promise<void> {
    const own = isOwner ? changes : changes.filter(({ scope }) => scope === 'outbox');
    const { store, done } = (await database).transaction(NAME, 'readwrite');
    for (const { scope, key, value } of own) {
      const path = [scope, key];
      void (value === undefined ? store.delete(path) : store.put(value, path));
    }
    await done;
    // Stored later, when this tab has become the owner.
    if (own.length < changes.length) throw new Error('another tab stores what is received');
  }
  return {
    commit,
    async load(scope) {
      const range = IDBKeyRange.bound([scope], [scope, []]);
      const { store } = (await database).transaction(NAME);
      const [keys, values] = await Promise.all([store.getAllKeys(range as never), store.getAll(range as never)]);
      return keys.map((key, index) => [String((key as string[])[1]), values[index] as unknown]);
    },
    clear: async () => (await database).clear(NAME),
    async close() {
      release();
      (await database).close();
    },
  };
}
