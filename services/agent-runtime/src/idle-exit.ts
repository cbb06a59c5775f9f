export interface IdleWatchDeps {
  /** Milliseconds of quiet after which `onIdle` runs, once. */
  limitMs: number;
  /** Milliseconds since anything happened; 0 while something does. */
  quietMs: () => number;
  onIdle: () => void;
}

/** Looks again when the limit could be reached at the earliest. Returns how to stop looking. */
export function watchIdle({ limitMs, quietMs, onIdle }: IdleWatchDeps): () => void {
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const left = limitMs - quietMs();
    if (left <= 0) onIdle();
    // A little late rather than early: timers may fire up to a millisecond before their time.
    else timer = setTimeout(look, left + 1);
  };
  look();
  return () => clearTimeout(timer);
}
