import type { SignalBus } from '../platform/jobs/job-signals.js';

/** `stop`: a stop was requested; `text`: a device reads the reply. */
export type TurnSignal = 'stop' | 'text';

/** Signals the process that runs a turn. Signals can be lost: a poll covers `stop`, and `text` is repeated. */
export interface TurnSignals {
  send(signal: TurnSignal, turnId: string): void;
  /** Calls the watcher until the returned function is called. */
  watch(turnId: string, watcher: Record<TurnSignal, () => void>): () => void;
}

const TOPIC = /^(stop|text):(.+)$/;

export function createTurnSignals(bus: SignalBus): TurnSignals {
  const watched = new Map<string, Set<Record<TurnSignal, () => void>>>();
  bus
    .onSignal((topic) => {
      const [, signal, turnId = ''] = TOPIC.exec(topic) ?? [];
      for (const watcher of watched.get(turnId) ?? []) watcher[signal as TurnSignal]();
    })
    // The bus was closed.
    .catch(() => undefined);
  return {
    send: (signal, turnId) => void bus.publishSignal(`${signal}:${turnId}`),
    watch(turnId, watcher) {
      const watchers = watched.get(turnId) ?? new Set();
      watched.set(turnId, watchers.add(watcher));
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0 && watched.get(turnId) === watchers) watched.delete(turnId);
      };
    },
  };
}
