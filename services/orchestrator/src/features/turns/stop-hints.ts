import type { Hints } from '../../jobs/wake-ups.js';

/** Tells the process that runs a turn that its stop was requested. A lost hint is covered by a poll. */
export interface StopHints {
  send(turnId: string): void;
  /** Calls `check` for each hint, until the returned function is called. */
  watch(turnId: string, check: () => void): () => void;
}

const STOP = 'stop:';

export function createStopHints(hints: Hints): StopHints {
  const watched = new Map<string, Set<() => void>>();
  hints
    .onHint((topic) => {
      if (topic.startsWith(STOP)) for (const check of watched.get(topic.slice(STOP.length)) ?? []) check();
    })
    // The bus was closed.
    .catch(() => undefined);
  return {
    send: (turnId) => void hints.publishHint(`${STOP}${turnId}`),
    watch(turnId, check) {
      const checks = watched.get(turnId) ?? new Set();
      watched.set(turnId, checks.add(check));
      return () => {
        checks.delete(check);
        if (checks.size === 0 && watched.get(turnId) === checks) watched.delete(turnId);
      };
    },
  };
}
