import type { ConnectedServer } from './listing.js';

export interface ListChangesDeps {
  /** Must not reject. */
  refresh(connected: ConnectedServer): Promise<unknown>;
}

/** A server that reports changes without end must not make us busy. */
const EVERY_MS = 10_000;

/** Lists a server's tools when it reports a change: immediately, but at most every ten seconds. */
export interface ListChanges {
  changed(connected: ConnectedServer): void;
  close(): void;
}

export function createListChanges({ refresh }: ListChangesDeps): ListChanges {
  /** Servers that were just listed; true if they have reported another change since. */
  const resting = new Map<string, { again: boolean; timer: NodeJS.Timeout }>();

  function list(key: string, connected: ConnectedServer): void {
    const timer = setTimeout(() => {
      const again = resting.get(key)?.again === true;
      resting.delete(key);
      if (again) list(key, connected);
    }, EVERY_MS).unref();
    resting.set(key, { again: false, timer });
    void refresh(connected);
  }

  return {
    changed(connected) {
      const key = `${connected.ownerId} ${connected.server.id}`;
      const rest = resting.get(key);
      if (rest === undefined) list(key, connected);
      else rest.again = true;
    },

    close() {
      for (const { timer } of resting.values()) clearTimeout(timer);
      resting.clear();
    },
  };
}
