import { LIMITS } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import { listed, type PageDirection } from './place.js';

/**
 * About how many bytes message `m` takes in a response. Of the text Postgres knows the length without reading it; the
 * rest is small: content without a text, attachments, mentions.
 */
export const STORED_BYTES = sql<number>`(
  coalesce(octet_length(m.search_text), octet_length(m.content::text)) + octet_length(m.attachments::text) + octet_length(m.mentions::text)
)`;
/** The same for all other fields of a message in a response. */
export const FIELD_BYTES = 700;

/** What is selected of messages `m` for `bounded`. */
export const BOUNDED_COLUMNS = sql`m.id, m.seq, m.before_seq, ${STORED_BYTES} + ${sql.lit(FIELD_BYTES)} AS bytes`;

/**
 * The selected messages as `page`, each with the number of all (`found`) and the size of the list up to and including it
 * (`total_bytes`).
 */
export const bounded = (messages: RawBuilder<unknown>, walk: PageDirection): RawBuilder<unknown> => sql`(
  SELECT m.id, m.bytes, row_number() OVER walked AS place, count(*) OVER () AS found, sum(m.bytes) OVER walked AS total_bytes
  FROM (${messages}) m
  WINDOW walked AS (ORDER BY ${listed(walk)} ROWS UNBOUNDED PRECEDING)
) page`;

/** Joins the messages themselves: those that fit into one response, and at least the first. No other one is read. */
export const JOIN_BOUNDED = sql`
  JOIN messages m ON m.id = page.id AND page.total_bytes - page.bytes < ${sql.lit(LIMITS.listBytes)}`;
