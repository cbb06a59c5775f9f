/** Tracks how long the webhook has given no usable response to any call of this process. */
export interface Outage {
  /** @param startedAt start of the failed call on the same monotonic clock */
  failed(startedAt: number): void;
  answered(): void;
  /** Milliseconds; 0 if the last response was usable. */
  lastedMs(): number;
  /**
   * True if a call may be sent. During a long outage, one call per second detects its end; more would only block the
   * workers.
   */
  mayCall(): boolean;
}

export interface OutageOptions {
  now?: () => number;
  /** Milliseconds. */
  longMs?: number;
}

/** Milliseconds after which UserSwarms report an outage. A webhook restart or rescheduling is shorter. */
export const OUTAGE_SHOWN_MS = 10_000;
/** Milliseconds between two calls during a long outage. */
const PROBE_MS = 1_000;

export function createOutage({ now = () => performance.now(), longMs = OUTAGE_SHOWN_MS }: OutageOptions = {}): Outage {
  let since: number | undefined;
  let answeredAt = -Infinity;
  let probedAt = -Infinity;
  const lastedMs = (): number => (since === undefined ? 0 : now() - since);
  return {
    lastedMs,
    failed(startedAt) {
      // A call that started before the last response does not start an outage.
      if (startedAt >= answeredAt) since ??= startedAt;
    },
    answered() {
      since = undefined;
      answeredAt = now();
    },
    mayCall() {
      if (lastedMs() < longMs) return true;
      if (now() - probedAt < PROBE_MS) return false;
      probedAt = now();
      return true;
    },
  };
}
