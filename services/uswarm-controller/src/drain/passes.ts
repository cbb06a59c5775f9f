import { setTimeout as sleep } from 'node:timers/promises';
import { DrainError } from './drain-error.js';

export interface Passes {
  /** One pass over the cluster, which lists the objects again. @returns true if nothing is left to do */
  pass: () => Promise<boolean>;
  /** Called after a failed pass; another one follows unless it throws. */
  onFailure: (error: Error) => void;
  /** Milliseconds between two passes. */
  everyMs: number;
}

/** Runs passes until one has nothing left to do. @throws DrainError from a pass, and errors from `onFailure` */
export async function runPasses({ pass, onFailure, everyMs }: Passes, signal: AbortSignal): Promise<void> {
  for (;;) {
    try {
      if (await pass()) return;
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DrainError) throw error;
      onFailure(error as Error);
    }
    await sleep(everyMs, undefined, { signal });
  }
}

/** Prints a failure once, until another message or a successful pass. */
export function createFailurePrinter(print: (line: string) => void) {
  let printed: string | undefined;
  return {
    failed({ message }: Error): void {
      if (message !== printed) print(`Retrying after a failure: ${message}`);
      printed = message;
    },
    succeeded(): void {
      printed = undefined;
    },
  };
}
