export interface FinishedTurnsOptions<T> {
  /** Bytes that all of them may take; beyond that the oldest is forgotten first. */
  maxBytes: number;
  /** Milliseconds that each is kept. */
  keepMs: number;
  onForget: (turn: T) => void;
}

/** What ended lately and may still be asked for. */
export interface FinishedTurns<T> {
  keep(turn: T): void;
  /** Forgets it now, if it is kept. */
  forget(turn: T): void;
}

export function createFinishedTurns<T extends { bytes: number }>(options: FinishedTurnsOptions<T>): FinishedTurns<T> {
  const { maxBytes, keepMs, onForget } = options;
  /** In the order in which they ended. */
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
