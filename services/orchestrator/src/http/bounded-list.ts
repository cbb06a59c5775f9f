import { LIMITS } from '@uswarm/contract';

/** Bytes of a value in a response. */
export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

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
