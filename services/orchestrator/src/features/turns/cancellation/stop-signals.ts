import type { SignalBus } from '../../../jobs/job-signals.js';

/** Tells the process that runs a turn that its stop was requested. A lost signal is covered by a poll. */
export interface StopSignals {
  send(turnId: string): void;
  /** Calls `check` for each signal, until the returned function is called. */
  watch(turnId: string, check: () => void): () => void;
}

const STOP = 'stop:';

export function createStopSignals(signals: SignalBus): StopSignals {
  const watched = new Map<string, Set<() => void>>();
  signals
    .onSignal((topic) => {
      if (topic.startsWith(STOP)) for (const check of watched.get(topic.slice(STOP.length)) ?? []) check();
    })
    // The bus was closed.
    .catch(() => undefined);
  return {
    send: (turnId) => void signals.publishSignal(`${STOP}${turnId}`),
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
