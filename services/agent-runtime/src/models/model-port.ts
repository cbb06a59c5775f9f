import { setTimeout as sleep } from 'node:timers/promises';
import { type AttemptDeps, runAttempt } from './attempt.js';
import { type Failure, NOTHING_SENT, type SentParts, toFailure } from './failures.js';
import { createLearnedParts, type LearnedPartsDeps } from './learned-parts.js';
import type { ModelPort, StepEvent, StepOptions, StepRequest } from './port.js';
import type { Fetch, ProviderAdapter } from './providers/adapter.js';
import { createRetryPolicy, DEFAULT_RETRIES, type RetryLimits } from './retry-policy.js';
import { createWatchdog, type WatchdogLimits } from './watchdog.js';

export interface ModelPortDeps extends LearnedPartsDeps {
  adapter: ProviderAdapter;
  limits: WatchdogLimits;
  retries?: Partial<RetryLimits>;
  /** Milliseconds for which response text is joined, after the first text. Default: 0 */
  joinMs?: number;
  /** Waits before a retry. @throws the signal's reason */
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

/** The call's next attempts leave these out. */
interface Reduced {
  parts: Set<string>;
  /** Those that the server refuses in each request. */
  always: Set<string>;
  outputLimit: number;
}

/** Outputs below this are of no use. */
const LEAST_OUTPUT = 64;

/** Leaves out what the server refused. @returns whether the call can be repeated with the rest */
function reduce(reduced: Reduced, { refused = [], outputLimit }: Failure, asked: number): boolean {
  if (outputLimit !== undefined) {
    const limit = outputLimit ?? Math.floor(asked / 2);
    if (limit >= LEAST_OUTPUT && limit < asked) {
      reduced.outputLimit = limit;
      return true;
    }
  }
  const next = refused.find(({ name }) => !reduced.parts.has(name));
  if (next === undefined) return false;
  reduced.parts.add(next.name);
  if (next.always) reduced.always.add(next.name);
  return true;
}

/** Makes model calls with retries, limits and usage, for any provider. */
export function createModelPort(deps: ModelPortDeps): ModelPort {
  const { adapter, limits, joinMs = 0, wait = waitMs, fetch, onLearned, now } = deps;
  const retries = { ...DEFAULT_RETRIES, ...deps.retries };
  const learned = createLearnedParts({ onLearned, ...(now === undefined ? {} : { now }) });

  /** `totalMs`: milliseconds that remain for the step; `retries`: how often the call was made before */
  async function* attempt(
    request: StepRequest,
    { signal, token, announce }: StepOptions,
    { totalMs, ...rest }: { totalMs: number } & Pick<AttemptDeps, 'retries' | 'leftOut' | 'onFailed'>,
  ): AsyncGenerator<StepEvent> {
    const watchdog = createWatchdog(signal, { ...limits, totalMs });
    try {
      yield* runAttempt({ adapter, request, watchdog, token: token?.(), announce, joinMs, fetch, ...rest });
    } catch (error) {
      watchdog.signal.throwIfAborted();
      throw error;
    } finally {
      watchdog.stop();
    }
  }

  /**
   * A server can also quote a part in another refusal: only the change that made the call succeed is kept for the next
   * calls.
   */
  function keep(model: string, { always, outputLimit }: Reduced): void {
    for (const part of always) learned.learn(model, part);
    if (outputLimit < learned.outputLimit(model)) learned.learnOutputLimit(model, outputLimit);
  }

  async function* step(asked: StepRequest, options: StepOptions): AsyncGenerator<StepEvent> {
    const { onLongWait, onLoading } = options;
    const { model } = asked;
    const policy = createRetryPolicy({
      ...retries,
      ...(onLongWait === undefined ? {} : { maxLongWaitMs: MAX_LONG_WAIT_MS }),
    });
    let until = performance.now() + limits.totalMs;
    const left = (): number => Math.max(1, until - performance.now());
    const reduced: Reduced = {
      parts: new Set(learned.of(model)),
      always: new Set(),
      outputLimit: learned.outputLimit(model),
    };
    /** Attempts that showed text. */
    let shown = 0;
    for (let count = 0; ; count += 1) {
      let isShown = false;
      let sent = NOTHING_SENT;
      const request = { ...asked, maxOutputTokens: Math.min(asked.maxOutputTokens, reduced.outputLimit) };
      try {
        const attempted = {
          totalMs: left(),
          retries: count,
          leftOut: reduced.parts,
          onFailed: (parts: SentParts) => void (sent = parts),
        };
        for await (const event of attempt(request, options, attempted)) {
          isShown ||= event.type === 'text';
          if (event.type === 'end') keep(model, reduced);
          yield event;
        }
        return;
      } catch (error) {
        options.signal.throwIfAborted();
        if (isShown) shown += 1;
        const failure = toFailure(error, sent);
        // Visible text is retracted once only: a reply that starts again and again is worse than an incomplete one.
        const repeated = reduce(reduced, failure, request.maxOutputTokens) ? 0 : undefined;
        const delayMs = repeated ?? (shown > 1 ? undefined : policy.next(failure));
        if (delayMs === undefined) throw failure.error;
        if (isShown) yield { type: 'retracted' };
        if (failure.loading === true) onLoading?.();
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
