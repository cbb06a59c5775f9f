import { type RawBuilder, sql } from 'kysely';
import type { Database } from '../platform/database/database.js';
import { FORCE_CUSTOM_PLAN } from '../platform/database/prepared.js';
import { selectPage } from '../records/messages.store.js';
import type { PageRow } from './message-view.js';
import type { PageDirection } from '../records/position.js';
import { BOUNDED_COLUMNS } from '../records/stored-bytes.js';
import { foldSearchTexts } from '../records/message-rows.js';

/** Search results are sorted by their own seq, because tool lines have no searchable text. */
function keysetAfter(pageDirection: PageDirection, seq: number | null): RawBuilder<unknown> {
  if (seq === null) return sql`true`;
  return pageDirection === 'older' ? sql`m.seq < ${seq}` : sql`m.seq > ${seq}`;
}

/** Few, because each may have the maximum length. */
const FOLDED_AT_ONCE = 200;

/** The number of messages scanned before the index is used. Common words are found by the scan. */
const READ_FIRST = 2_000;

/** Stored in the database, also by a migration. */
export const SEARCH_FOLD_JOB = 'search-fold';

const sorted = (pageDirection: PageDirection) => (pageDirection === 'older' ? sql`m.seq DESC` : sql`m.seq ASC`);

async function seqs(db: Database, query: RawBuilder<{ seq: number }>): Promise<number[]> {
  const { rows } = await query.execute(db);
  return rows.map(({ seq }) => seq);
}

/**
 * Blocks other searches of the user, on all replicas, until the transaction ends.
 *
 * @returns the normalized words of the query; empty if it has only whitespace
 */
export async function lockSearches(db: Database, userId: string, query: string): Promise<string[]> {
  const { rows } = await sql<{ folded: string }>`
    SELECT search_fold(${query}) AS folded, pg_advisory_xact_lock(hashtextextended(${userId}, 2))`.execute(db);
  const words = (rows[0]?.folded ?? '').split(/\s+/u).filter((word) => word !== '');
  return [...new Set(words)];
}

/** A page of the messages whose text contains every word. */
export async function searchMessages(
  db: Database,
  conversationId: string,
  words: readonly string[],
  pageDirection: PageDirection,
  seq: number | null,
  limit: number,
  readFirst = READ_FIRST,
): Promise<PageRow[]> {
  const inConversation = sql`m.conversation_id = ${conversationId}`;
  const nearest = await seqs(
    db,
    sql`${FORCE_CUSTOM_PLAN}
      SELECT m.seq FROM (
        SELECT m.seq, ${UNPACKED} FROM messages m WHERE ${inConversation} AND ${keysetAfter(pageDirection, seq)}
        ORDER BY ${sorted(pageDirection)} LIMIT ${readFirst}
      ) m
      WHERE ${all(words, contains)}
      ORDER BY ${sorted(pageDirection)} LIMIT ${limit}`,
  );
  const [edge] =
    nearest.length === limit
      ? []
      : await seqs(
          db,
          sql`${FORCE_CUSTOM_PLAN}
        SELECT m.seq FROM messages m WHERE ${inConversation} AND ${keysetAfter(pageDirection, seq)}
        ORDER BY ${sorted(pageDirection)} OFFSET ${readFirst - 1} LIMIT 1`,
        );
  const remaining =
    edge === undefined
      ? []
      : await seqs(
          db,
          sql`${FORCE_CUSTOM_PLAN}
        SELECT m.seq FROM (
          SELECT m.seq, ${UNPACKED} FROM messages m
          WHERE ${all(words, (word) => hasKeys(sql`${conversationId}`, word))} AND m.search_text IS NOT NULL
            AND ${inConversation} AND ${keysetAfter(pageDirection, edge)}
          OFFSET 0
        ) m
        WHERE ${all(words, contains)}
        ORDER BY ${sorted(pageDirection)} LIMIT ${limit - nearest.length}`,
        );
  const messages = sql`
    SELECT ${BOUNDED_COLUMNS} FROM messages m
    WHERE ${inConversation} AND m.seq = ANY(${[...nearest, ...remaining]}::bigint[])`;
  return selectPage(db, messages, pageDirection);
}

/** Rewrites outdated search texts among the next messages after an id. @returns the last id that it checked */
export function foldMessagesAgain(db: Database, after: string): Promise<string | undefined> {
  return foldSearchTexts(db, after, FOLDED_AT_ONCE);
}

/** Decompresses the text once per message; Postgres would decompress the column again for each word. */
const UNPACKED = sql`m.search_text || '' AS unpacked`;

function all(words: readonly string[], condition: (word: string) => RawBuilder<unknown>): RawBuilder<unknown> {
  return sql.join(words.map(condition), sql` AND `);
}

/** Matches literally: a word has no special characters. */
const contains = (word: string): RawBuilder<unknown> => sql`strpos(m.unpacked, ${word}) > 0`;

/** The index condition of a word; see its migration. The index cannot select short words of ASCII letters. */
export function hasKeys(conversationId: RawBuilder<unknown>, word: string): RawBuilder<unknown> {
  const keys = sql`search_keys(m.conversation_id, m.search_text)`;
  const wanted = sql`${keys} @> search_keys_wanted(${conversationId}, ${word})`;
  return [...word].length === 2 ? sql`${wanted} AND ${keys} && search_keys_of_pair(${word})` : wanted;
}
