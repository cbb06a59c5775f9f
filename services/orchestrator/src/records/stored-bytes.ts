import { LIMITS } from '@uswarm/contract';
import { type RawBuilder, sql } from 'kysely';
import { listOrder, type PageDirection } from './position.js';

/**
 * Estimated response size of message `m` in bytes. Postgres knows a text's length without reading it; the other columns
 * (content without a text, attachments, mentions) are small.
 */
export const STORED_BYTES = sql<number>`(
  coalesce(octet_length(m.search_text), octet_length(m.content::text)) + octet_length(m.attachments::text) + octet_length(m.mentions::text)
)`;
/** Estimated size of all other message fields. */
export const FIELD_BYTES = 800;

export const BOUNDED_COLUMNS = sql`m.id, m.seq, m.before_seq, ${STORED_BYTES} + ${sql.lit(FIELD_BYTES)} AS bytes`;

/**
 * The selected messages as `page`, each with the total number of messages (`found`) and the cumulative size including
 * it (`total_bytes`).
 */
export const bounded = (messages: RawBuilder<unknown>, pageDirection: PageDirection): RawBuilder<unknown> => sql`(
  SELECT m.id, m.bytes, row_number() OVER running AS position, count(*) OVER () AS found, sum(m.bytes) OVER running AS total_bytes
  FROM (${messages}) m
  WINDOW running AS (ORDER BY ${listOrder(pageDirection)} ROWS UNBOUNDED PRECEDING)
) page`;

/** Joins the message rows that fit into one response, and at least the first. Other rows are not read. */
export const JOIN_BOUNDED = sql`
  JOIN messages m ON m.id = page.id AND page.total_bytes - page.bytes < ${sql.lit(LIMITS.listBytes)}`;
