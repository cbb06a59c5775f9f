export interface CancellationPollerOptions {
  /** Whether a stop was requested. */
  requested: () => Promise<boolean>;
  /** Called when a stop was requested, until it succeeds. */
  stop: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

/**
 * Polls for a stop request until one is handled. It covers lost signals, and lost notifications of the runtime.
 *
 * @returns functions that poll immediately, and that end the polling
 */
export function pollForCancellation({ requested, stop, everyMs, onError }: CancellationPollerOptions) {
  let polling = false;
  async function poll(): Promise<void> {
    if (!(await requested())) return;
    await stop();
    clearInterval(timer);
  }
  function check(): void {
    if (polling) return;
    polling = true;
    poll()
      .catch(onError)
      .finally(() => (polling = false));
  }
  const timer = setInterval(check, everyMs);
  return { check, end: () => clearInterval(timer) };
}
