import { type RawBuilder, sql } from 'kysely';

/** Where a message is listed in its conversation. */
export interface Place {
  /** The seq of its `message.new`. */
  seq: number;
  /** Of a tool line: the seq of the reply before which it is listed. */
  before_seq: number | null;
}

export type PageDirection = 'older' | 'newer';

/** The key by which messages `m` are listed; the index messages_place has the same expressions. */
const KEY = sql`coalesce(m.before_seq, m.seq), m.before_seq IS NULL, m.seq`;

/** Messages `m` that come after the place in the direction; all of them if it is null. */
export function beyond(walk: PageDirection, place: Place | null): RawBuilder<unknown> {
  if (place === null) return sql`true`;
  const key = sql`${place.before_seq ?? place.seq}::bigint, ${place.before_seq === null}::boolean, ${place.seq}::bigint`;
  return walk === 'older' ? sql`(${KEY}) < (${key})` : sql`(${KEY}) > (${key})`;
}

/** The sort of messages `m`: `older` newest first, `newer` oldest first. */
export function listed(walk: PageDirection): RawBuilder<unknown> {
  return walk === 'older'
    ? sql`coalesce(m.before_seq, m.seq) DESC, m.before_seq IS NULL DESC, m.seq DESC`
    : sql`${KEY}`;
}

const DIGITS = 16;

/** The place as text that sorts as messages are listed. Pure. */
export function positionOf({ seq, before_seq }: Place): string {
  const digits = (value: number): string => String(value).padStart(DIGITS, '0');
  return before_seq === null ? `${digits(seq)}b` : `${digits(before_seq)}a${digits(seq)}`;
}
