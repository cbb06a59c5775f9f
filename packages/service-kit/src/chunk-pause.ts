const SHORTEST_MS = 50;
const LONGEST_MS = 350;
const RISE_MS = 2_000;

/**
 * Milliseconds between two parts of streamed text. The first words appear quickly; later, a part has more text for the same
 * header.
 *
 * @param elapsedMs since the first part
 */
export const chunkPauseMs = (elapsedMs: number): number =>
  SHORTEST_MS + (LONGEST_MS - SHORTEST_MS) * Math.min(1, elapsedMs / RISE_MS);
