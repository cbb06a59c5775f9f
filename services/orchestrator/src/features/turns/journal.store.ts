import { sql } from 'kysely';
import type { Database } from '../../database/database.js';

export interface JournalEntry {
  /** From 1 without gaps, over all generations of the turn. */
  number: number;
  kind: 'step' | 'result';
  /** JSON that only runtimes read. */
  body: string;
}

/** Bytes of the body of an entry, as in the protocol. */
export const MAX_ENTRY_BYTES = 128 * 1024;
/** Bytes of the bodies of all entries of a turn, as in the protocol. */
export const MAX_JOURNAL_BYTES = 2 * 1024 * 1024;

/** The entries of running turns. */
export interface JournalStore {
  /**
   * Appends an entry, unless it was appended before. Requires the lease of the turn.
   *
   * @returns false if an entry before it is missing, or if the journal would be too large
   */
  append(turn: { id: string; generation: number }, entry: JournalEntry, db: Database): Promise<boolean>;
  entries(turnId: string): Promise<JournalEntry[]>;
  isEmpty(turnId: string, db: Database): Promise<boolean>;
}

export function createJournalStore(database: Database): JournalStore {
  return {
    async append({ id, generation }, { number, kind, body }, db) {
      const { last, bytes } = await db
        .selectFrom('turn_entries')
        .select(({ fn }) => [
          fn.coalesce(fn.max('number'), sql<number>`0`).as('last'),
          sql<number>`coalesce(sum(octet_length(body)), 0)::int`.as('bytes'),
        ])
        .where('turn_id', '=', id)
        .executeTakeFirstOrThrow();
      if (number <= last) return true;
      if (number !== last + 1 || bytes + Buffer.byteLength(body) > MAX_JOURNAL_BYTES) return false;
      await db.insertInto('turn_entries').values({ turn_id: id, generation, number, kind, body }).execute();
      return true;
    },

    entries: (turnId) =>
      database
        .selectFrom('turn_entries')
        .select(['number', 'kind', 'body'])
        .where('turn_id', '=', turnId)
        .orderBy('number')
        .execute(),

    async isEmpty(turnId, db) {
      const entry = await db
        .selectFrom('turn_entries')
        .select('number')
        .where('turn_id', '=', turnId)
        .limit(1)
        .executeTakeFirst();
      return entry === undefined;
    },
  };
}
