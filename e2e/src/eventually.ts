import { setTimeout as sleep } from 'node:timers/promises';

export interface EventuallyOptions {
  /** Timeout in milliseconds. */
  withinMs: number;
  everyMs?: number;
}

/**
 * Repeats `probe` until it neither throws nor returns undefined.
 *
 * @throws Error with the description and the last error when the timeout is exceeded
 */
export async function eventually<T>(
  what: string,
  { withinMs, everyMs = 250 }: EventuallyOptions,
  probe: () => Promise<T | undefined>,
): Promise<T> {
  const deadline = performance.now() + withinMs;
  for (let last: unknown; ;) {
    try {
      const result = await probe();
      if (result !== undefined) return result;
      last = undefined;
    } catch (error) {
      last = error;
    }
    if (performance.now() + everyMs > deadline) {
      const reason = last === undefined ? '' : `; last: ${last instanceof Error ? last.message : String(last)}`;
      throw new Error(`${what}: not within ${withinMs / 1000} s${reason}`, { cause: last });
    }
    await sleep(everyMs);
  }
}
