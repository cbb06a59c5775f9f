import type { Timers } from '../src/timers.js';

export interface ManualTimers extends Timers {
  /** Advances the time by `ms` and runs due tasks in the order of their times. */
  advance(ms: number): void;
  pending(): number;
}

/** Timers whose time advances only by `advance`. */
export function createManualTimers(): ManualTimers {
  const tasks = new Set<{ due: number; task: () => void }>();
  let now = 0;
  return {
    after(ms, task) {
      const entry = { due: now + ms, task };
      tasks.add(entry);
      return () => void tasks.delete(entry);
    },
    advance(ms) {
      const end = now + ms;
      for (;;) {
        const next = [...tasks].filter(({ due }) => due <= end).toSorted((a, b) => a.due - b.due)[0];
        if (next === undefined) break;
        now = next.due;
        tasks.delete(next);
        next.task();
      }
      now = end;
    },
    pending: () => tasks.size,
  };
}
