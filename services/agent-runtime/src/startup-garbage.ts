import { watchIdle } from './idle-watch.js';

/** Milliseconds without activity after which the start is complete. */
const SETTLED_MS = 1_000;

/** The collector from `--expose-gc` in the image's NODE_OPTIONS. */
export type Collector = (options: { type: 'major'; flavor: 'last-resort'; execution: 'sync' }) => void;

export interface StartupGarbageDeps {
  /** Milliseconds since the last activity; 0 during one. */
  quietMs: () => number;
  /** Undefined if Node.js runs without `--expose-gc`: then nothing is collected. */
  gc?: Collector | undefined;
}

/**
 * Collects once what only the start needed, when the runtime is idle for the first time. V8 does so only while a process
 * allocates, and a runtime can be idle from its start. After turns V8 reduces the heap itself.
 *
 * @returns a function that cancels it
 */
export function collectStartupGarbage({
  quietMs,
  gc = globalThis.gc as Collector | undefined,
}: StartupGarbageDeps): () => void {
  if (gc === undefined) return () => undefined;
  // The other flavors keep compiled code and free pages.
  return watchIdle({
    limitMs: SETTLED_MS,
    quietMs,
    onIdle: () => gc({ type: 'major', flavor: 'last-resort', execution: 'sync' }),
  });
}
