/** A priority queue of keys, smallest place first. Every operation but `clear` costs O(log n) comparisons. */
export interface StartQueue {
  readonly size: number;
  /** Adds a key, or moves it to another place. Costs no comparison if the place is unchanged. */
  put(key: string, place: string): void;
  /** @returns whether the key was queued */
  remove(key: string): boolean;
  /** Removes the key with the smallest place. */
  takeFirst(): string | undefined;
  clear(): void;
}

interface Entry {
  key: string;
  place: string;
  /** Position in the heap. */
  at: number;
}

export type Compare = (left: string, right: string) => number;

const byText: Compare = (left, right) => (left < right ? -1 : Number(left > right));

/** A binary heap with an index from key to position. */
export function createStartQueue(compare: Compare = byText): StartQueue {
  const heap: Entry[] = [];
  const entries = new Map<string, Entry>();

  const set = (entry: Entry, at: number): void => {
    heap[at] = entry;
    entry.at = at;
  };
  const isBefore = (left: Entry, right: Entry): boolean => compare(left.place, right.place) < 0;
  const rise = (entry: Entry): void => {
    let { at } = entry;
    for (let parent = heap[(at - 1) >> 1]; at > 0 && parent !== undefined; parent = heap[(at - 1) >> 1]) {
      if (!isBefore(entry, parent)) break;
      const next = parent.at;
      set(parent, at);
      at = next;
    }
    set(entry, at);
  };
  const sink = (entry: Entry): void => {
    let { at } = entry;
    for (;;) {
      const [left, right] = [heap[2 * at + 1], heap[2 * at + 2]];
      const child = left !== undefined && right !== undefined && isBefore(right, left) ? right : left;
      if (child === undefined || !isBefore(child, entry)) break;
      const next = child.at;
      set(child, at);
      at = next;
    }
    set(entry, at);
  };
  const remove = (entry: Entry): void => {
    entries.delete(entry.key);
    const last = heap.pop();
    if (last === undefined || last === entry) return;
    set(last, entry.at);
    rise(last);
    sink(last);
  };
  return {
    get size() {
      return heap.length;
    },
    put(key, place) {
      const known = entries.get(key);
      if (known?.place === place) return;
      if (known !== undefined) remove(known);
      const entry = { key, place, at: heap.length };
      entries.set(key, entry);
      heap.push(entry);
      rise(entry);
    },
    remove(key) {
      const entry = entries.get(key);
      if (entry !== undefined) remove(entry);
      return entry !== undefined;
    },
    takeFirst() {
      const [first] = heap;
      if (first !== undefined) remove(first);
      return first?.key;
    },
    clear() {
      heap.length = 0;
      entries.clear();
    },
  };
}
