/** What a UserSwarm was before it was on its way to Ready. */
export type ReadyFrom = 'create' | 'resume' | 'recovery';

export interface TimeToReady {
  /** A sync is about to begin that finds this phase; undefined for one that has no status yet. */
  seen(uid: string, phase: string | undefined): void;
  changed(uid: string, before: string | undefined, after: string | undefined): void;
  forget(uid: string): void;
}

/** Measures from when a UserSwarm was first seen, or left another phase, until it is Ready. */
export function createTimeToReady(
  onReady: (from: ReadyFrom, seconds: number) => void,
  now: () => number = () => performance.now(),
): TimeToReady {
  const began = new Map<string, { from: ReadyFrom; at: number }>();
  return {
    seen(uid, phase) {
      if (phase === undefined && !began.has(uid)) began.set(uid, { from: 'create', at: now() });
    },
    changed(uid, before, after) {
      if (after === 'Ready') {
        const start = began.get(uid);
        if (start !== undefined) onReady(start.from, (now() - start.at) / 1_000);
        began.delete(uid);
      } else if (after !== 'Progressing') began.delete(uid);
      else if (before !== undefined && !began.has(uid)) {
        began.set(uid, { from: before === 'Suspended' ? 'resume' : 'recovery', at: now() });
      }
    },
    forget: (uid) => void began.delete(uid),
  };
}
