import { ModelError } from './model.js';

/** Aborts a call without progress. */
export interface Watchdog {
  /** Aborts with the caller's reason, or with `model_timeout` after `timeoutMs` without a touch. */
  signal: AbortSignal;
  touch(): void;
  stop(): void;
}

export function createWatchdog(outer: AbortSignal, timeoutMs: number): Watchdog {
  const silence = new AbortController();
  const timer = setTimeout(
    () => silence.abort(new ModelError('model_timeout', 'The model provider did not respond in time.')),
    timeoutMs,
  );
  return {
    signal: AbortSignal.any([outer, silence.signal]),
    touch: () => void timer.refresh(),
    stop: () => clearTimeout(timer),
  };
}
