import { setTimeout as sleep } from 'node:timers/promises';
import type { Reserved } from '../writer/turn-budget.js';

/** A model call of a process that was killed never gives its tokens back. */
const ATTEMPTS = 240;
const EVERY_MS = 500;

export interface WaitOptions {
  /** Whether the turn was stopped or has ended. */
  isAborted: () => boolean;
  signal: AbortSignal;
  /** Milliseconds between two attempts. */
  everyMs?: number | undefined;
}

/**
 * Reserves tokens, and waits up to two minutes while running model calls of other turns have reserved what is left of the budget.
 *
 * @returns `busy` only if the turn was stopped or has ended
 */
export async function reserveWhenFree(reserve: () => Promise<Reserved>, options: WaitOptions): Promise<Reserved> {
  const { isAborted, signal, everyMs = EVERY_MS } = options;
  for (let attempt = 1; ; attempt += 1) {
    const reserved = await reserve();
    if (reserved !== 'busy' || isAborted()) return reserved;
    if (attempt === ATTEMPTS) return 'budget_reached';
    await sleep(everyMs, undefined, { signal });
  }
}
