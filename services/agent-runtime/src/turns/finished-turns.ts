export interface FinishedTurnsOptions<T> {
  /** Total size in bytes, above which the oldest turns are removed. */
  maxBytes: number;
  /** Milliseconds for which a turn is kept. */
  keepMs: number;
  onForget: (turn: T) => void;
}

/** Turns that ended recently and can still be requested. */
export interface FinishedTurns<T> {
  keep(turn: T): void;
  /** Removes the turn if it is kept. */
  forget(turn: T): void;
}

export function createFinishedTurns<T extends { bytes: number }>(options: FinishedTurnsOptions<T>): FinishedTurns<T> {
  const { maxBytes, keepMs, onForget } = options;
  /** In the order of their ends. */
  const timers = new Map<T, NodeJS.Timeout>();
  let bytes = 0;

  function forget(turn: T): void {
    const timer = timers.get(turn);
    if (timer === undefined) return;
    clearTimeout(timer);
    timers.delete(turn);
    bytes -= turn.bytes;
    onForget(turn);
  }

  return {
    forget,
    keep(turn) {
      timers.set(turn, setTimeout(forget, keepMs, turn).unref());
      bytes += turn.bytes;
      for (const oldest of timers.keys()) {
        if (bytes <= maxBytes || oldest === turn) return;
        forget(oldest);
      }
    },
  };
}
