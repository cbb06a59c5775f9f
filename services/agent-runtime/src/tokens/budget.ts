/** Model limits, in tokens. */
export interface ContextLimits {
  /** Prompt and output together. */
  contextWindow: number;
  /** Output of one model call. */
  maxOutputTokens: number;
}

/** Share of the window that stays free, for what estimates miss. */
const RESERVE = 0.05;

/** The tokens that the prompt and the tools of one model call may have. Not above 0 if no prompt fits. */
export function promptBudget({ contextWindow, maxOutputTokens }: ContextLimits): number {
  return Math.floor(contextWindow * (1 - RESERVE) - maxOutputTokens);
}

/** `scale` as it is applied: an estimate is never reduced. */
export const effectiveScale = (scale: number): number => (scale > 1 ? scale : 1);
