import type { RankedMemory } from '../../records/memories.store.js';

/** Limit for the memories that every turn receives. */
export const CORE_BYTES = 8 * 1024;
/** Limit for the memories that are chosen by relevance. */
export const RELEVANT_BYTES = 16 * 1024;

/**
 * Core memories, last changed first, then the others in the given order. A memory that does not fit is skipped. Pure.
 *
 * @returns keys
 */
export function chooseMemories(ranked: readonly RankedMemory[]): string[] {
  const core = fitting(
    ranked.filter((memory) => memory.core).toSorted((a, b) => b.updated_at.getTime() - a.updated_at.getTime()),
    CORE_BYTES,
  );
  const chosen = new Set(core);
  const others = fitting(
    ranked.filter(({ key }) => !chosen.has(key)),
    RELEVANT_BYTES,
  );
  return [...core, ...others];
}

function fitting(memories: readonly RankedMemory[], maxBytes: number): string[] {
  let left = maxBytes;
  return memories.flatMap(({ key, bytes }) => {
    if (bytes > left) return [];
    left -= bytes;
    return [key];
  });
}
