/** Why a UserSwarm was not Ready. */
export type ReadyFrom = 'create' | 'resume' | 'recovery';

export interface TimeToReady {
  /** Called before a reconcile with the current phase; undefined without a status. */
  seen(uid: string, phase: string | undefined): void;
  changed(uid: string, before: string | undefined, after: string | undefined): void;
  forget(uid: string): void;
}

/** Measures the time from when a UserSwarm was first observed, or left its phase, until it is Ready. */
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
