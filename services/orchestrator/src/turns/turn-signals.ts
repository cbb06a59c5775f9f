import type { SignalBus } from '../platform/jobs/job-signals.js';

/**
 * `stop`: a stop was requested; `text`: a device reads the reply; `steer`: a conversation has a message for its running turn;
 * `answer`: the user has answered a question of a call.
 */
export type TurnSignal = 'stop' | 'text' | 'steer' | 'answer';

export type TurnWatcher = Partial<Record<TurnSignal, () => void>>;

/** Signals the process that runs a turn. Signals can be lost: polls cover `stop`, `steer` and `answer`, and `text` is repeated. */
export interface TurnSignals {
  /** @param id the turn's; for `steer`, the conversation's */
  send(signal: TurnSignal, id: string): void;
  /** Calls the watcher until the returned function is called. */
  watch(id: string, watcher: TurnWatcher): () => void;
}

const TOPIC = /^(stop|text|steer|answer):(.+)$/;

export function createTurnSignals(bus: SignalBus): TurnSignals {
  const watched = new Map<string, Set<TurnWatcher>>();
  bus
    .onSignal((topic) => {
      const [, signal, id = ''] = TOPIC.exec(topic) ?? [];
      for (const watcher of watched.get(id) ?? []) watcher[signal as TurnSignal]?.();
    })
    // The bus was closed.
    .catch(() => undefined);
  return {
    send: (signal, id) => void bus.publishSignal(`${signal}:${id}`),
    watch(id, watcher) {
      const watchers = watched.get(id) ?? new Set();
      watched.set(id, watchers.add(watcher));
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0 && watched.get(id) === watchers) watched.delete(id);
      };
    },
  };
}
