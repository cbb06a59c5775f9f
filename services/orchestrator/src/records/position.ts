import { type RawBuilder, sql } from 'kysely';

/** The position of a message in its conversation. */
export interface Position {
  /** The seq of its `message.new`. */
  seq: number;
  /** For a tool line: the seq of the reply before which it is listed. */
  before_seq: number | null;
}

export type PageDirection = 'older' | 'newer';

/** The sort key of messages `m`. The index messages_place must have the same expressions. */
const KEY = sql`coalesce(m.before_seq, m.seq), m.before_seq IS NULL, m.seq`;

/** Predicate: messages `m` after the position in the direction, or all messages if it is null. */
export function keysetAfter(pageDirection: PageDirection, position: Position | null): RawBuilder<unknown> {
  if (position === null) return sql`true`;
  const key = keyOf(position);
  return pageDirection === 'older' ? sql`(${KEY}) < (${key})` : sql`(${KEY}) > (${key})`;
}

/** Predicate: messages `m` that `keysetAfter` excludes. */
export function keysetBehind(pageDirection: PageDirection, position: Position): RawBuilder<unknown> {
  const key = keyOf(position);
  return pageDirection === 'older' ? sql`(${KEY}) >= (${key})` : sql`(${KEY}) <= (${key})`;
}

const keyOf = ({ seq, before_seq }: Position): RawBuilder<unknown> =>
  sql`${before_seq ?? seq}::bigint, ${before_seq === null}::boolean, ${seq}::bigint`;

/** The sort order of messages `m`: `older` is newest first, `newer` is oldest first. */
export function listOrder(pageDirection: PageDirection): RawBuilder<unknown> {
  return pageDirection === 'older'
    ? sql`coalesce(m.before_seq, m.seq) DESC, m.before_seq IS NULL DESC, m.seq DESC`
    : sql`${KEY}`;
}

const DIGITS = 16;

/** The position as text whose sort order is that of the list. Pure. */
export function positionOf({ seq, before_seq }: Position): string {
  const digits = (value: number): string => String(value).padStart(DIGITS, '0');
  return before_seq === null ? `${digits(seq)}b` : `${digits(before_seq)}a${digits(seq)}`;
}
