export interface CancellationPollerOptions {
  /** Whether a stop was requested. */
  requested: () => Promise<boolean>;
  /** Called when a stop was requested, until it succeeds. */
  stop: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

/**
 * Polls for a stop request until one is handled. It covers lost notifications: a stop request also notifies the runtime
 * immediately.
 *
 * @returns a function that ends the polling
 */
export function pollForCancellation({ requested, stop, everyMs, onError }: CancellationPollerOptions): () => void {
  let polling = false;
  async function poll(): Promise<void> {
    if (!(await requested())) return;
    await stop();
    clearInterval(timer);
  }
  const timer = setInterval(() => {
    if (polling) return;
    polling = true;
    poll()
      .catch(onError)
      .finally(() => (polling = false));
  }, everyMs);
  return () => clearInterval(timer);
}
