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
  async function poll(): Promise<void> {
    if (!(await requested())) return;
    await stop();
    end();
  }
  function end(): void {
    hasEnded = true;
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
