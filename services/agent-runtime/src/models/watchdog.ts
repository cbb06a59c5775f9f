import { ModelError } from './port.js';

export interface WatchdogLimits {
  /** Milliseconds until the first response byte. */
  firstByteMs: number;
  /** Milliseconds between two response parts. */
  betweenBytesMs: number;
  /** Milliseconds for the whole call. */
  totalMs: number;
}

/** Aborts a call without progress. */
export interface Watchdog {
  /** Aborts with the caller's reason, or with `model_timeout` when a limit is exceeded. */
  signal: AbortSignal;
  /** Any byte is progress, also comments that servers send to keep a connection open. */
  touch(): void;
  stop(): void;
}

export function createWatchdog(outer: AbortSignal, limits: WatchdogLimits): Watchdog {
  const expiry = new AbortController();
  const expire = (): void =>
    expiry.abort(new ModelError('model_timeout', 'The model provider did not respond in time.'));
  let silence = setTimeout(expire, limits.firstByteMs);
  let responded = false;
  const total = setTimeout(expire, limits.totalMs);
  return {
    signal: AbortSignal.any([outer, expiry.signal]),
    touch() {
      if (responded) {
        silence.refresh();
        return;
      }
      responded = true;
      clearTimeout(silence);
      silence = setTimeout(expire, limits.betweenBytesMs);
    },
    stop() {
      clearTimeout(silence);
      clearTimeout(total);
    },
  };
}
