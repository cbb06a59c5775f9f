import type { ContextLimits } from '../tokens/budget.js';
import { promptBudget } from '../tokens/budget.js';
import { fillOf, type ModelContext, scaleOf } from './model-context.js';

/**
 * How large the requests of one turn may be, after refusals for size. It ends with the turn, so no refusal without a number changes the
 * prompt of another conversation.
 *
 * | refusal                                        | next request                                              |
 * | ---------------------------------------------- | --------------------------------------------------------- |
 * | with a limit that explains it                  | within the limit                                          |
 * | any other: the first, second, third and later  | at most 7/8, 3/4 and 1/2 of the refused one               |
 * | without a known cause                          | the same, or as large as one that was accepted before     |
 */
export interface TurnFit {
  refusals: number;
  /** The first refused request. */
  first: Size | undefined;
  /** Upper bound for the next request. */
  most: Size | undefined;
}

/** A request as it is sent. */
export interface Size {
  /** Unscaled estimate of prompt and tools. */
  tokens: number;
  bytes: number;
}

export const WHOLE: TurnFit = { refusals: 0, first: undefined, most: undefined };

const FACTORS = [7 / 8, 3 / 4];
const LATER = 1 / 2;

/** The output never takes a larger share of a window. */
const OUTPUT_SHARE = 0.25;
/** Smaller outputs are of no use. */
const LEAST_OUTPUT = 128;

const times = ({ tokens, bytes }: Size, factor: number): Size => ({
  tokens: Math.floor(tokens * factor),
  bytes: Math.floor(bytes * factor),
});

/** The state after a refusal whose limit does not explain it, or that has none. Pure. */
export function afterRefusal(state: TurnFit, sent: Size): TurnFit {
  const factor = FACTORS[state.refusals] ?? LATER;
  return { refusals: state.refusals + 1, first: state.first ?? sent, most: times(sent, factor) };
}

/** The state after a refusal whose limit explains it: the limit is enough. Pure. */
export const afterStatedLimit = (state: TurnFit, sent: Size): TurnFit => ({
  ...state,
  refusals: state.refusals + 1,
  first: state.first ?? sent,
});

/** The state after a refusal that may have another cause: what was accepted before is tried. Pure. */
export function afterUnexplained(state: TurnFit, sent: Size, acceptedBytes: number): TurnFit {
  const next = afterRefusal(state, sent);
  const most = next.most ?? sent;
  if (acceptedBytes <= 0 || acceptedBytes >= most.bytes) return next;
  return { ...next, most: times(sent, acceptedBytes / sent.bytes) };
}

/** Returns the request's size as a fraction of the first refused one. */
export const keptPart = ({ first }: TurnFit, { bytes }: Size): number =>
  first === undefined ? 1 : Math.round((bytes / first.bytes) * 100) / 100;

/** Limits for one request. */
export interface Room {
  /** Unscaled estimate of prompt and tools. */
  tokens: number;
  bytes: number;
  maxOutputTokens: number;
  /** True if the server has stated or shown the limit. Otherwise it is configured, and prompts must fit. */
  isFound: boolean;
}

/**
 * The room for a turn's next request. Pure.
 *
 * @param window the window that the server has stated
 */
export function roomFor(
  limits: ContextLimits,
  { context, window, fit }: { context: ModelContext; window: number | undefined; fit: TurnFit },
): Room {
  const configured = promptBudget(limits) / scaleOf(context);
  const isStated = window !== undefined && window < limits.contextWindow;
  const stated = isStated
    ? {
        contextWindow: window,
        maxOutputTokens: Math.min(limits.maxOutputTokens, Math.floor(window * OUTPUT_SHARE)),
      }
    : limits;
  const inWindow = isStated ? promptBudget(stated) / fillOf(context) : configured;
  const { most } = fit;
  const output = most === undefined ? stated.maxOutputTokens : Math.max(LEAST_OUTPUT, Math.floor(most.tokens / 3));
  return {
    tokens: Math.min(inWindow, configured, most?.tokens ?? Infinity),
    bytes: most?.bytes ?? Infinity,
    maxOutputTokens: Math.min(stated.maxOutputTokens, output),
    isFound: isStated || most !== undefined || scaleOf(context) > 1,
  };
}

/** Returns true if the stated limit explains the refusal. */
export const explains = (limit: number, sent: Size, maxOutputTokens: number, context: ModelContext): boolean =>
  sent.tokens * scaleOf(context) + maxOutputTokens > limit;
