export interface CancellationPollerOptions {
  /** Whether a stop was requested. */
  requested: () => Promise<boolean>;
  /** Called once they do. */
  stop: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

/**
 * Polls for a stop request until one is handled. It covers lost notifications: a stop request also notifies the runtime
 * immediately.
 *
 * @returns what ends the looking
 */
export function pollForCancellation({ requested, stop, everyMs, onError }: CancellationPollerOptions): () => void {
  let looking = false;
  async function look(): Promise<void> {
    if (!(await requested())) return;
    await stop();
    clearInterval(timer);
  }
  const timer = setInterval(() => {
    if (looking) return;
    looking = true;
    look()
      .catch(onError)
      .finally(() => (looking = false));
  }, everyMs);
  return () => clearInterval(timer);
}
