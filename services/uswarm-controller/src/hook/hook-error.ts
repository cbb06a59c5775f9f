import type { SyncFailure } from '@uswarm/contract/userswarm';

/** Outcome of a webhook call; `busy`: it returned Retry-After. */
export const HOOK_OUTCOMES = ['ok', 'refused', 'timeout', 'unreachable', 'invalid', 'busy'] as const;
export type HookOutcome = (typeof HOOK_OUTCOMES)[number];

/** The webhook is unreachable or returned an invalid response. Nothing is changed in the cluster. */
export class HookError extends Error {
  override name = 'HookError';
  readonly outcome: HookOutcome;
  /** Milliseconds since the webhook last gave a usable response to any call. */
  outageMs = 0;

  constructor(outcome: HookOutcome, message: string, cause?: unknown) {
    super(message, { cause });
    this.outcome = outcome;
  }

  /** The reason that a UserSwarm shows. */
  get reason(): SyncFailure {
    return this.outcome === 'invalid' ? 'WebhookInvalid' : 'WebhookUnavailable';
  }
}

/** The webhook asks to be called later. It is reported only if it lasts. */
export class HookBusy extends HookError {
  override name = 'HookBusy';
  /** Seconds of `Retry-After`, if present. */
  readonly retryAfterS: number | undefined;

  constructor(retryAfterS: number | undefined) {
    super('busy', 'the webhook returns HTTP 429');
    this.retryAfterS = retryAfterS;
  }
}

/** Parses a `Retry-After` header (seconds or an HTTP date) to seconds; undefined if it is neither. */
export function retryAfterSeconds(header: string | string[] | undefined, nowMs: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - nowMs) / 1_000);
}
