import { setTimeout as sleep } from 'node:timers/promises';
import type { Reserved } from '../writer/turn-budget.js';

/** Bounded, because a killed process never gives back the tokens that its model call reserved. */
const ATTEMPTS = 240;
const EVERY_MS = 500;

export interface WaitOptions {
  isAborted: () => boolean;
  signal: AbortSignal;
  everyMs?: number | undefined;
}

/**
 * Reserves tokens. Waits up to two minutes while other turns' running model calls have reserved the rest of the budget.
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
