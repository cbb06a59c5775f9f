/** Characters of one result. */
const MOST_CHARACTERS = 16_000;
const LEAST_CHARACTERS = 2_000;
/** A result has about a sixth of the window, at three characters per token. */
const CHARACTERS_PER_WINDOW_TOKEN = 0.5;

/** Characters that a result about a file may have. */
export const roomIn = (contextWindow: number | undefined): number =>
  Math.floor(
    Math.min(MOST_CHARACTERS, Math.max(LEAST_CHARACTERS, (contextWindow ?? Infinity) * CHARACTERS_PER_WINDOW_TOKEN)),
  );
