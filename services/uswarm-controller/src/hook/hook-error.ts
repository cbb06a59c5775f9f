/** How a call of the webhook ended; `busy`: it asked to be called later. */
export const HOOK_OUTCOMES = ['ok', 'refused', 'timeout', 'unreachable', 'invalid', 'busy'] as const;
export type HookOutcome = (typeof HOOK_OUTCOMES)[number];

/** The webhook did not answer, or not with something that can be used. Nothing may be changed because of it. */
export class HookError extends Error {
  override name = 'HookError';
  readonly outcome: HookOutcome;
  /** Milliseconds for which the webhook has given no usable answer to any call. */
  outageMs = 0;

  constructor(outcome: HookOutcome, message: string, cause?: unknown) {
    super(message, { cause });
    this.outcome = outcome;
  }
}

/** The webhook is not ill, but asks to be called later: no failure, and nothing to tell anyone. */
export class HookBusy extends HookError {
  override name = 'HookBusy';
  /** Seconds, if the webhook named them. */
  readonly retryAfterS: number | undefined;

  constructor(retryAfterS: number | undefined) {
    super('busy', 'the webhook asks to be called later');
    this.retryAfterS = retryAfterS;
  }
}

/** Seconds of a `Retry-After` header, which has seconds or a date; undefined if it has neither. */
export function retryAfterSeconds(header: string | string[] | undefined, nowMs: number): number | undefined {
  const text = (Array.isArray(header) ? header[0] : header)?.trim() ?? '';
  if (/^\d+$/.test(text)) return Number(text);
  const date = Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, (date - nowMs) / 1_000);
}
