import { LIMITS } from '@uswarm/contract';

/** Bytes of a value in a response. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** A byte of text takes at most six in JSON: `\u0001`. */
const MAX_ESCAPE = 6;

/** True if a list whose stored text has this many bytes fits into one response, however much of it JSON escapes. */
export const surelyFits = (storedBytes: number): boolean => storedBytes * MAX_ESCAPE <= LIMITS.listBytes;

/**
 * The items from the beginning that fit into one response, so that it stays near `LIMITS.listBytes` whatever is stored.
 * The first item always does: a list that goes on is never empty.
 */
export function fitting<Item>(
  items: readonly Item[],
  bytesOf: (item: Item) => number,
  most: number = LIMITS.listBytes,
): Item[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => {
    bytes += bytesOf(item);
    return index > 0 && bytes > most;
  });
  return end === -1 ? [...items] : items.slice(0, end);
}
