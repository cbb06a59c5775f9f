import type { Entry } from '@uswarm/runtime-proto';

/** How far the orchestrator has committed the events of a turn. */
export interface Commits {
  /** The events up to this number are committed. A lower number than before has no effect. */
  advance(through: number): void;
  /** Resolves when the events up to this number are committed. @throws the reason of `signal` */
  reached(number: number, signal: AbortSignal): Promise<void>;
  /** Releases the body of an entry when its event is committed: the orchestrator does not read it again. */
  keep(number: bigint, entry: Entry): void;
}

export function createCommits(): Commits {
  let committed = 0;
  let entries: { number: number; entry: Entry }[] = [];
  const waiting = new Set<() => void>();

  return {
    advance(through) {
      if (through <= committed) return;
      committed = through;
      for (const { number, entry } of entries) if (number <= committed) entry.body = '';
      entries = entries.filter(({ number }) => number > committed);
      for (const check of waiting) check();
    },
    reached: (number, signal) =>
      new Promise((resolve, reject) => {
        const end = (): void => {
          waiting.delete(check);
          signal.removeEventListener('abort', check);
        };
        const check = (): void => {
          if (!signal.aborted && committed < number) return;
          end();
          if (signal.aborted) reject(signal.reason as Error);
          else resolve();
        };
        waiting.add(check);
        signal.addEventListener('abort', check);
        check();
      }),
    keep: (number, entry) => void entries.push({ number: Number(number), entry }),
  };
}
