import { LIMITS } from '@uswarm/contract';

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** JSON escapes a byte with at most six bytes: `\u0001`. */
const MAX_ESCAPE = 6;

/** True if a list with this stored size fits into one response even if JSON escapes every byte. */
export const surelyFits = (storedBytes: number): boolean => storedBytes * MAX_ESCAPE <= LIMITS.listBytes;

/**
 * Returns the first items whose total size is at most `LIMITS.listBytes`. The first item is always included, so that a
 * page with a next page is never empty.
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
