export interface IdleWatchDeps {
  /** Milliseconds without activity after which `onIdle` is called once. */
  limitMs: number;
  /** Milliseconds since the last activity; 0 during one. */
  quietMs: () => number;
  onIdle: () => void;
}

/** Checks when the limit can be reached at the earliest. @returns a function that stops it */
export function watchIdle({ limitMs, quietMs, onIdle }: IdleWatchDeps): () => void {
  let timer: NodeJS.Timeout | undefined;
  const look = (): void => {
    const left = limitMs - quietMs();
    if (left <= 0) onIdle();
    // One millisecond later, because timers may fire up to a millisecond early.
    else timer = setTimeout(look, left + 1);
  };
  look();
  return () => clearTimeout(timer);
}
