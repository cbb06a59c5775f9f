import { setTimeout as sleep } from 'node:timers/promises';
import { inspect } from 'node:util';

export interface EventuallyOptions {
  /** Default: 120,000. */
  timeoutMs?: number;
  /** Milliseconds between two probes. Default: a tenth of the elapsed time, between 5 and 250. */
  intervalMs?: number;
  /** Expectation, for the error. Default: the probe's source. */
  description?: string;
}

type Probe<T> = () => Promise<T> | T;

/**
 * Repeats `probe` until it returns a value that `until` accepts; without `until`, any value except `undefined` and `false`.
 * An exception counts as a rejected value, so a probe can contain assertions.
 *
 * @throws Error with the last value or exception on timeout
 */
export function eventually<T>(
  probe: Probe<T>,
  options: EventuallyOptions & { until: (value: T) => boolean },
): Promise<T>;
export function eventually<T>(probe: Probe<T>, options?: EventuallyOptions): Promise<Exclude<T, undefined | false>>;
export async function eventually<T>(
  probe: Probe<T>,
  options: EventuallyOptions & { until?: (value: T) => boolean } = {},
): Promise<T> {
  const { timeoutMs = 120_000, description = probe.toString() } = options;
  const { until = (value) => value !== undefined && value !== false } = options;
  const started = performance.now();
  for (;;) {
    const attempt = await tryOnce(probe, until);
    if (attempt.accepted) return attempt.value;
    const elapsedMs = performance.now() - started;
    const { intervalMs = Math.min(Math.max(elapsedMs / 10, 5), 250) } = options;
    if (elapsedMs + intervalMs > timeoutMs) {
      throw new Error(`${description}: not within ${timeoutMs} ms; last: ${attempt.reason}`, { cause: attempt.error });
    }
    await sleep(intervalMs);
  }
}

type Attempt<T> = { accepted: true; value: T } | { accepted: false; reason: string; error?: unknown };

async function tryOnce<T>(probe: Probe<T>, until: (value: T) => boolean): Promise<Attempt<T>> {
  try {
    const value = await probe();
    return until(value) ? { accepted: true, value } : { accepted: false, reason: inspect(value) };
  } catch (error) {
    return { accepted: false, reason: error instanceof Error ? error.message : String(error), error };
  }
}
