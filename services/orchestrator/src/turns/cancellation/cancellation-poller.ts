export interface CancellationPollerOptions {
  /** Whether a stop was requested. */
  requested: () => Promise<boolean>;
  /** Called when a stop was requested, until it succeeds. */
  stop: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

export interface CancellationPoller {
  /** Polls immediately. */
  check(): void;
  /** Another statement has read whether a stop was requested. If it was not, the next poll can wait. */
  known(isRequested: boolean): void;
  /** Ends the polling. */
  end(): void;
}

/** Less than between two polls: a stop that the runtime did not receive is sent again. */
const RETRY_MS = 1_000;

/**
 * Polls for a stop request until one is handled. It covers lost signals, and lost notifications of the runtime.
 */
export function pollForCancellation({
  requested,
  stop,
  everyMs,
  onError,
}: CancellationPollerOptions): CancellationPoller {
  let polling = false;
  let hasEnded = false;
  let retry: NodeJS.Timeout | undefined;
  async function poll(): Promise<void> {
    if (!(await requested())) return;
    await stop();
    end();
  }
  function end(): void {
    hasEnded = true;
    clearInterval(timer);
    clearTimeout(retry);
  }
  function failed(error: unknown): void {
    onError(error);
    clearTimeout(retry);
    if (!hasEnded) retry = setTimeout(check, RETRY_MS);
  }
  function check(): void {
    if (polling) return;
    polling = true;
    poll()
      .catch(failed)
      .finally(() => (polling = false));
  }
  const timer = setInterval(check, everyMs);
  return {
    check,
    known(isRequested) {
      if (hasEnded) return;
      if (isRequested) check();
      else timer.refresh();
    },
    end,
  };
}
