import { silentLogger } from '@uswarm/service-kit';
import { createJournalBodies } from '../src/turns/journal/journal-bodies.js';
import type { CallRecord, EntryVerdict, StoredEntry } from '../src/turns/journal/journal.store.js';
import type { EntryParts } from '../src/turns/journal/turn-entries.js';
import type { TurnWorkerDeps } from '../src/turns/worker.js';

type Entry = StoredEntry & EntryParts & { generation: number };

/** `onStore` is called before the object store is used, and may throw. */
export function createMemoryJournal({
  recentCalls = [],
  onStore,
}: {
  recentCalls?: CallRecord[];
  onStore?: () => void;
}) {
  const entries: Entry[] = [];
  const objects = new Map<string, string>();
  const judge = (number: number): EntryVerdict => {
    if (number <= entries.length) return 'known';
    return number === entries.length + 1 ? 'new' : 'refused';
  };
  const journal: TurnWorkerDeps['journal'] = {
    judgeEntry: async (_db, { number }) => judge(number),
    appendEntry: async (_db, { generation }, appended) => {
      const verdict = judge(appended.number);
      if (verdict === 'new') entries.push({ ...appended, generation });
      return verdict;
    },
    listEntries: async () => entries,
    isJournalEmpty: async () => entries.length === 0,
    findRecentTurns: async () => ({ turnIds: ['earlier'], calls: recentCalls }),
    listCalls: async () => recentCalls,
  };
  const bodies = createJournalBodies({
    contents: {
      put: async (owner, content) => {
        onStore?.();
        objects.set(owner.join(), content);
        return owner.join();
      },
      read: async (key) => {
        onStore?.();
        return objects.get(key) ?? '';
      },
    },
    retryForMs: 500,
    logger: silentLogger,
  });
  return { entries, journal, bodies };
}
