/**
 * One model's context, learned from server responses. A refusal without a number does not concern other conversations, so it is not
 * here: see `turn-fit.ts`.
 *
 * | event                              | window                                                          |
 * | ---------------------------------- | --------------------------------------------------------------- |
 * | refused with a limit               | the limit                                                       |
 * | the same limit, after it was due   | the limit, with twice the patience                              |
 * | accepted above the window          | none                                                            |
 * | accepted below the window          | one call nearer to being due                                    |
 * | due, by calls or by time           | not applied: a server that has more again is found by trying it |
 */
export interface ModelContext {
  /** Reported tokens by estimated tokens, for the newest calls. */
  ratios: readonly number[];
  window: LearnedWindow | undefined;
  /** Bytes in the largest accepted request. */
  acceptedBytes: number;
}

interface LearnedWindow {
  /** Prompt and output together. */
  tokens: number;
  /** Number of times that the same limit was found again. */
  confirmed: number;
  /** Accepted calls since then. */
  calls: number;
  /** Monotonic milliseconds. */
  since: number;
}

type ModelContextEvent =
  | { type: 'refused'; limit: number; at: number }
  | {
      type: 'accepted';
      /** Unscaled. */
      estimated: number;
      /** Undefined if the provider did not report it. */
      reported: number | undefined;
      bytes: number;
      at: number;
    };

const UNKNOWN: ModelContext = { ratios: [], window: undefined, acceptedBytes: 0 };

/** Calls whose ratios count. */
const RATIOS = 8;
/** The greatest ratio that reported usage sets. A greater one is more likely a provider's mistake. */
const MAX_RATIO = 4;
/** Below it, a report more likely covers only a part of the prompt, such as the part that was not cached. */
const MIN_RATIO = 0.5;
/** In smaller prompts, what a provider adds itself outweighs the text. */
const MIN_ESTIMATE = 1_000;

const PATIENCE_CALLS = 8;
const PATIENCE_MS = 5 * 60_000;
/** 24 hours, by doubling. */
const MAX_DOUBLINGS = 8;

function isDue({ confirmed, calls, since }: LearnedWindow, at: number): boolean {
  const factor = 2 ** Math.min(confirmed, MAX_DOUBLINGS);
  return calls >= PATIENCE_CALLS * factor || at - since >= PATIENCE_MS * factor;
}

/** The state after an event. Pure. */
function afterEvent(state: ModelContext, event: ModelContextEvent): ModelContext {
  const { window } = state;
  if (event.type === 'refused') {
    const { limit: tokens, at } = event;
    const isSame = window?.tokens === tokens;
    if (isSame && !isDue(window, at)) return state;
    const confirmed = isSame ? window.confirmed + 1 : 0;
    return { ...state, window: { tokens, confirmed, calls: 0, since: at } };
  }
  const { estimated, reported, bytes } = event;
  const ratio = reported === undefined || estimated < MIN_ESTIMATE ? [] : [Math.min(reported / estimated, MAX_RATIO)];
  const isAbove = window !== undefined && reported !== undefined && reported > window.tokens;
  return {
    ratios: [...ratio, ...state.ratios].slice(0, RATIOS),
    window: window === undefined || isAbove ? undefined : { ...window, calls: window.calls + 1 },
    acceptedBytes: Math.max(bytes, state.acceptedBytes),
  };
}

/** The window that the server has stated; undefined if there is none, or if it is time to try a larger prompt. */
const statedWindow = ({ window }: ModelContext, at: number): number | undefined =>
  window === undefined || isDue(window, at) ? undefined : window.tokens;

/** The factor for estimates: at least 1, and not above what reports support. */
export const scaleOf = ({ ratios }: ModelContext): number => Math.max(1, ...ratios);

/** Factor for estimates inside a stated window, which also reports below the estimates change. */
export const fillOf = ({ ratios }: ModelContext): number => (ratios.length === 0 ? 1 : Math.max(MIN_RATIO, ...ratios));

/** Keeps each model's context as long as the process runs. */
export interface ModelContexts {
  of(model: string): ModelContext;
  window(model: string): number | undefined;
  /** All windows that servers have stated. */
  windows(): { model: string; tokens: number }[];
  accepted(model: string, call: { estimated: number; reported: number | undefined; bytes: number }): void;
  refused(model: string, limit: number): void;
}

/** @param now monotonic clock in milliseconds */
export function createModelContexts(now: () => number = () => performance.now()): ModelContexts {
  const states = new Map<string, ModelContext>();
  const of = (model: string): ModelContext => states.get(model) ?? UNKNOWN;
  const apply = (model: string, event: ModelContextEvent): void => void states.set(model, afterEvent(of(model), event));
  return {
    of,
    window: (model) => statedWindow(of(model), now()),
    windows: () =>
      [...states].flatMap(([model, state]) => {
        const tokens = statedWindow(state, now());
        return tokens === undefined ? [] : [{ model, tokens }];
      }),
    accepted: (model, call) => apply(model, { type: 'accepted', ...call, at: now() }),
    refused: (model, limit) => apply(model, { type: 'refused', limit, at: now() }),
  };
}
