/** A time limit of one operation. */
export interface Deadline {
  /** Aborts when the time is over, or with the signal that cancels the operation. */
  readonly signal: AbortSignal;
  expired(): boolean;
  /** Must be called when the operation has ended. */
  end(): void;
}

/**
 * Starts a time limit. Unlike `AbortSignal.any` with `AbortSignal.timeout`, it leaves nothing in memory when the
 * operation ends: those keep each operation until its timer fires, and a reference to it in the cancelling signal.
 */
export function startDeadline(ms: number, cancel?: AbortSignal): Deadline {
  const controller = new AbortController();
  let isExpired = false;
  const timer = setTimeout(() => {
    isExpired = true;
    controller.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError'));
  }, ms);
  timer.unref();
  const stop = (): void => controller.abort(cancel?.reason);
  if (cancel?.aborted === true) stop();
  else cancel?.addEventListener('abort', stop);
  return {
    signal: controller.signal,
    expired: () => isExpired,
    end() {
      clearTimeout(timer);
      cancel?.removeEventListener('abort', stop);
    },
  };
}
