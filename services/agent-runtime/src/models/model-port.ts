import { setTimeout as sleep } from 'node:timers/promises';
import { runAttempt } from './attempt.js';
import { type Failure, toFailure } from './failures.js';
import type { ModelPort, StepEvent, StepOptions, StepRequest } from './port.js';
import type { Fetch, ProviderAdapter } from './providers/adapter.js';
import { createRetryPolicy, DEFAULT_RETRIES, type RetryLimits, type RetryPolicy } from './retry-policy.js';
import { createWatchdog, type WatchdogLimits } from './watchdog.js';

export interface ModelPortDeps {
  adapter: ProviderAdapter;
  limits: WatchdogLimits;
  retries?: Partial<RetryLimits>;
  /** Milliseconds for which the text of a response is joined, after the first text. Default: 0 */
  joinMs?: number;
  /** Waits before a retry. @throws the reason of the signal */
  wait?: (ms: number, signal: AbortSignal) => Promise<void>;
  fetch?: Fetch;
}

/** The longest time for which a turn can wait, in milliseconds: as long as the orchestrator waits for a turn. */
const MAX_LONG_WAIT_MS = 30 * 60_000;

async function waitMs(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await sleep(ms, undefined, { signal });
  } catch {
    signal.throwIfAborted();
  }
}

/** Makes model calls with retries, limits and usage, for any provider. */
export function createModelPort(deps: ModelPortDeps): ModelPort {
  const { adapter, limits, joinMs = 0, wait = waitMs, fetch } = deps;
  const retries = { ...DEFAULT_RETRIES, ...deps.retries };
  /** Optional parameters that the provider rejected, by model; it will reject them again. */
  const rejectedBy = new Map<string, Set<string>>();

  function rejectedFor(model: string): Set<string> {
    const rejected = rejectedBy.get(model) ?? new Set();
    rejectedBy.set(model, rejected);
    return rejected;
  }

  /** @returns milliseconds to wait before another attempt; undefined if the failure is final */
  function nextAttempt(
    failure: Failure,
    policy: RetryPolicy,
    { shown, rejected }: { shown: number; rejected: Set<string> },
  ): number | undefined {
    const { rejectedParameter: parameter } = failure;
    if (parameter !== undefined && !rejected.has(parameter)) {
      rejected.add(parameter);
      return 0;
    }
    // Visible text is retracted once only: a reply that starts again and again is worse than an incomplete one.
    return shown > 1 ? undefined : policy.next(failure);
  }

  /** `totalMs`: milliseconds that remain for the step; `retries`: how often the call was made before */
  async function* attempt(
    request: StepRequest,
    { signal, token, announce }: StepOptions,
    { totalMs, retries: count }: { totalMs: number; retries: number },
  ): AsyncGenerator<StepEvent> {
    const watchdog = createWatchdog(signal, { ...limits, totalMs });
    const rejected = rejectedFor(request.model);
    try {
      yield* runAttempt({
        adapter,
        request,
        watchdog,
        rejected,
        token: token?.(),
        announce,
        retries: count,
        joinMs,
        fetch,
      });
    } catch (error) {
      watchdog.signal.throwIfAborted();
      throw error;
    } finally {
      watchdog.stop();
    }
  }

  async function* step(request: StepRequest, options: StepOptions): AsyncGenerator<StepEvent> {
    const { onLongWait } = options;
    const policy = createRetryPolicy({
      ...retries,
      ...(onLongWait === undefined ? {} : { maxLongWaitMs: MAX_LONG_WAIT_MS }),
    });
    let until = performance.now() + limits.totalMs;
    const left = (): number => Math.max(1, until - performance.now());
    const rejected = rejectedFor(request.model);
    /** Attempts that showed text. */
    let shown = 0;
    for (let count = 0; ; count += 1) {
      let isShown = false;
      try {
        for await (const event of attempt(request, options, { totalMs: left(), retries: count })) {
          isShown ||= event.type === 'text';
          yield event;
        }
        return;
      } catch (error) {
        options.signal.throwIfAborted();
        if (isShown) shown += 1;
        const failure = toFailure(error, adapter.optionalParameters);
        const delayMs = nextAttempt(failure, policy, { shown, rejected });
        if (delayMs === undefined) throw failure.error;
        if (isShown) yield { type: 'retracted' };
        if (onLongWait !== undefined && delayMs > retries.longestMs) {
          until += delayMs;
          onLongWait(delayMs);
        }
        await wait(delayMs, options.signal);
      }
    }
  }

  return { provider: adapter.slug, announces: true, step };
}
