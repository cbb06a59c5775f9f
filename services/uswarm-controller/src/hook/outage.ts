/** The time for which the webhook has given no usable answer to anyone: a state of the process, not of a UserSwarm. */
export interface Outage {
  /** @param startedAt when the call that failed began, on the same monotonic clock */
  failed(startedAt: number): void;
  answered(): void;
  /** Milliseconds; 0 if the last answer was usable. */
  lastedMs(): number;
  /**
   * Whether a call may go out. During a long outage one call per second is enough to see its end; the others would
   * only keep the workers waiting.
   */
  mayCall(): boolean;
}

export interface OutageOptions {
  now?: () => number;
  /** Milliseconds. */
  longMs?: number;
}

/** Milliseconds of an outage after which UserSwarms say so. A restart of the webhook or a moved pod is shorter. */
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
      // A call that began before the last answer says nothing about the time after it.
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
