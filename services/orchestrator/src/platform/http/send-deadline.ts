import { ApiError } from '@uswarm/contract';

/** After the deadline, a message must not be stored, because its sender no longer waits for the result. */
export interface SendDeadline {
  remainingMs(): number;
  /** @throws ApiError `service_unavailable`, with `stored: 'no'`, if the time has passed */
  check(): void;
}

/** Starts now. @param signal is aborted when the sender no longer waits */
export function createSendDeadline(ms: number, signal?: AbortSignal): SendDeadline {
  const end = performance.now() + ms;
  const remainingMs = (): number => (signal?.aborted === true ? 0 : Math.max(0, end - performance.now()));
  return {
    remainingMs,
    check() {
      if (remainingMs() === 0) throw notStored();
    },
  };
}

const notStored = (): ApiError => new ApiError('service_unavailable', { extra: { stored: 'no' } });

/**
 * Runs a transaction that ends before the deadline or stores nothing. `run` calls `confirm` as its last step: then the
 * transaction decides the result, even if its COMMIT takes longer. A transaction that still waits, for example for a
 * lock, is refused at the deadline; it rolls back when it calls `confirm`.
 *
 * @throws ApiError `service_unavailable`, with `stored: 'no'`, and errors that `run` throws
 */
export async function runBefore<Result>(
  deadline: SendDeadline,
  run: (confirm: () => void) => Promise<Result>,
): Promise<Result> {
  let state: 'open' | 'confirmed' | 'refused' = 'open';
  const refused = Promise.withResolvers<never>();
  const refuse = (): void => {
    if (state === 'confirmed') return;
    state = 'refused';
    refused.reject(notStored());
  };
  const timer = setTimeout(refuse, deadline.remainingMs());
  const confirm = (): void => {
    if (state === 'refused') throw notStored();
    // Timers can be late.
    deadline.check();
    state = 'confirmed';
  };
  try {
    return await Promise.race([run(confirm), refused.promise]);
  } finally {
    clearTimeout(timer);
  }
}
