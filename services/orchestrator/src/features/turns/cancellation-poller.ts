export interface CancellationPollerOptions {
  /** Whether somebody wants it stopped by now. */
  requested: () => Promise<boolean>;
  /** Called once they do. */
  stop: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

/**
 * Looks now and then whether something is to be stopped, until it was. This is for the word that got lost: whoever
 * asks for the stop also says so to the runtime at once.
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
