export interface CancellationPollerOptions {
  requested: () => Promise<boolean>;
  /** Called after a stop request, again until it succeeds. */
  stop: () => Promise<void>;
  everyMs: number;
  onError: (error: unknown) => void;
}

export interface CancellationPoller {
  check(): void;
  /** Reports what another statement has just read. Without a stop request, the next poll can wait. */
  known(isRequested: boolean): void;
  end(): void;
}

/** Shorter than the poll interval, because the runtime may not have received the stop. */
const RETRY_MS = 1_000;

/** Polls for a stop request until one is handled. This covers lost signals and lost runtime notifications. */
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
