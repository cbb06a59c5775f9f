export interface GroupsOptions<Item, Result> {
  /** Handles a group. @returns a result for each item, in the same order */
  run: (items: readonly Item[]) => Promise<readonly Result[]>;
  /** Maximum items per group. */
  maxItems: number;
  /** Maximum concurrent groups. */
  maxGroups: number;
  /** A further group starts after this many ms although the groups before it have not ended. */
  patienceMs: number;
}

/**
 * For concurrent sends, which share statements. `maxItems`: more messages than arrive during a commit, and few enough for
 * one statement's memory. `patienceMs`: several times a group's duration.
 */
export const SENDS = { maxItems: 64, maxGroups: 4, patienceMs: 50 };

/** For reads that many clients need together after a gateway has ended. */
export const READS_OF_RECONNECTS = { maxItems: 256, maxGroups: 2, patienceMs: 50 };

interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Handles items together that arrive while earlier ones are handled, as databases do with commits: a single item does
 * not wait, and under load groups grow instead of the queue. A group that hangs does not stop the ones behind it.
 *
 * @returns a function that adds an item, and returns its result or its group's error
 */
export function createGroups<Item, Result>({
  run,
  maxItems,
  maxGroups,
  patienceMs,
}: GroupsOptions<Item, Result>): (item: Item) => Promise<Result> {
  const waiting: Waiting<Item, Result>[] = [];
  let running = 0;
  /** The last group that started runs for less than `patienceMs`. */
  let recent = false;

  function startNext(): void {
    if (waiting.length === 0 || running >= maxGroups || recent) return;
    const group = waiting.splice(0, maxItems);
    running += 1;
    recent = true;
    const timer = setTimeout(() => {
      recent = false;
      startNext();
    }, patienceMs);
    void handle(group).finally(() => {
      running -= 1;
      // A group that started later keeps its own time.
      if (running === 0) {
        clearTimeout(timer);
        recent = false;
      }
      startNext();
    });
  }

  async function handle(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await run(group.map(({ item }) => item));
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result);
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      startNext();
    });
}
