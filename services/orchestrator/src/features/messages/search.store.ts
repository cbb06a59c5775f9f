import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../../database/database.js';
import { FORCE_CUSTOM_PLAN } from '../../database/prepared.js';
import { MESSAGE_COLUMNS, MESSAGE_JOINS } from './messages.store.js';
import type { PageRow } from './message-view.js';
import type { PageDirection } from './place.js';
import { bounded, BOUNDED_COLUMNS, JOIN_BOUNDED } from './stored-bytes.js';

export interface MessageSearchStore {
  /** Lets one search of a user run at a time, whichever replica it is on. Held until the transaction ends. */
  lockUser(userId: string, db: Database): Promise<void>;
  /** The normalized words of a query; empty if it has only blanks. */
  words(query: string, db?: Database): Promise<string[]>;
  /** As a page of messages, of those that have every word somewhere in their text. */
  page(
    conversationId: string,
    words: readonly string[],
    walk: PageDirection,
    seq: number | null,
    limit: number,
    db?: Database,
  ): Promise<PageRow[]>;
}

/** What can be found is listed by its own seq: tool lines have no text to be found by. */
function beyond(walk: PageDirection, seq: number | null): RawBuilder<unknown> {
  if (seq === null) return sql`true`;
  return walk === 'older' ? sql`m.seq < ${seq}` : sql`m.seq > ${seq}`;
}

/** Messages that are scanned before the index is used: common words are found there. */
const READ_FIRST = 2_000;

export function createMessageSearchStore(database: Database, readFirst = READ_FIRST): MessageSearchStore {
  const sorted = (walk: PageDirection) => (walk === 'older' ? sql`m.seq DESC` : sql`m.seq ASC`);

  async function seqs(query: RawBuilder<{ seq: number }>, db: Database): Promise<number[]> {
    const { rows } = await query.execute(db);
    return rows.map(({ seq }) => seq);
  }

  return {
    async lockUser(userId, db) {
      await sql`SELECT pg_advisory_xact_lock(hashtextextended(${userId}, 2))`.execute(db);
    },

    async words(query, db = database) {
      const { rows } = await sql<{ folded: string }>`SELECT search_fold(${query}) AS folded`.execute(db);
      const words = (rows[0]?.folded ?? '').split(/\s+/u).filter((word) => word !== '');
      return [...new Set(words)];
    },

    async page(conversationId, words, walk, seq, limit, db = database) {
      const inConversation = sql`m.conversation_id = ${conversationId}`;
      const nearest = await seqs(
        sql`${FORCE_CUSTOM_PLAN}
        SELECT m.seq FROM (
          SELECT m.seq, ${UNPACKED} FROM messages m WHERE ${inConversation} AND ${beyond(walk, seq)}
          ORDER BY ${sorted(walk)} LIMIT ${readFirst}
        ) m
        WHERE ${all(words, contains)}
        ORDER BY ${sorted(walk)} LIMIT ${limit}`,
        db,
      );
      const [edge] =
        nearest.length === limit
          ? []
          : await seqs(
              sql`${FORCE_CUSTOM_PLAN}
        SELECT m.seq FROM messages m WHERE ${inConversation} AND ${beyond(walk, seq)}
        ORDER BY ${sorted(walk)} OFFSET ${readFirst - 1} LIMIT 1`,
              db,
            );
      const farther =
        edge === undefined
          ? []
          : await seqs(
              sql`${FORCE_CUSTOM_PLAN}
        SELECT m.seq FROM (
          SELECT m.seq, ${UNPACKED} FROM messages m
          WHERE ${all(words, (word) => hasKeys(conversationId, word))} AND m.search_text IS NOT NULL
            AND ${inConversation} AND ${beyond(walk, edge)}
          OFFSET 0
        ) m
        WHERE ${all(words, contains)}
        ORDER BY ${sorted(walk)} LIMIT ${limit - nearest.length}`,
              db,
            );
      const messages = sql`
        SELECT ${BOUNDED_COLUMNS} FROM messages m
        WHERE ${inConversation} AND m.seq = ANY(${[...nearest, ...farther]}::bigint[])`;
      const { rows } = await sql<PageRow>`${FORCE_CUSTOM_PLAN}
        SELECT ${MESSAGE_COLUMNS}, page.found, page.total_bytes
        FROM ${bounded(messages, walk)} ${JOIN_BOUNDED} ${MESSAGE_JOINS}
        ORDER BY page.place`.execute(db);
      return rows;
    },
  };
}

/** The whole text in memory, read and decompressed once per message: a column itself is read again for each word. */
const UNPACKED = sql`m.search_text || '' AS unpacked`;

function all(words: readonly string[], condition: (word: string) => RawBuilder<unknown>): RawBuilder<unknown> {
  return sql.join(words.map(condition), sql` AND `);
}

/** Literally: no character of a word means anything but itself. */
const contains = (word: string): RawBuilder<unknown> => sql`strpos(m.unpacked, ${word}) > 0`;

/** What the index can tell of a word; see its migration. A short word of ASCII letters it cannot tell apart. */
function hasKeys(conversationId: string, word: string): RawBuilder<unknown> {
  const keys = sql`search_keys(m.conversation_id, m.search_text)`;
  const wanted = sql`${keys} @> search_keys_wanted(${conversationId}, ${word})`;
  return [...word].length === 2 ? sql`${wanted} AND ${keys} && search_keys_of_pair(${word})` : wanted;
}
