import { type RawBuilder, sql } from 'kysely';

export interface Position {
  /** Set by its `message.new`. */
  seq: number;
  /** Lists a tool line before the reply with this seq. */
  before_seq: number | null;
}

export type PageDirection = 'older' | 'newer';

/** Sort key for messages `m`. The index messages_place must have the same expressions. */
const KEY = sql`coalesce(m.before_seq, m.seq), m.before_seq IS NULL, m.seq`;

/** Selects messages `m` after the position in the direction, or all messages if it is null. */
export function keysetAfter(pageDirection: PageDirection, position: Position | null): RawBuilder<unknown> {
  if (position === null) return sql`true`;
  const key = keyOf(position);
  return pageDirection === 'older' ? sql`(${KEY}) < (${key})` : sql`(${KEY}) > (${key})`;
}

/** Selects messages `m` that `keysetAfter` excludes. */
export function keysetBehind(pageDirection: PageDirection, position: Position): RawBuilder<unknown> {
  const key = keyOf(position);
  return pageDirection === 'older' ? sql`(${KEY}) >= (${key})` : sql`(${KEY}) <= (${key})`;
}

const keyOf = ({ seq, before_seq }: Position): RawBuilder<unknown> =>
  sql`${before_seq ?? seq}::bigint, ${before_seq === null}::boolean, ${seq}::bigint`;

/** Sort order for messages `m`: `older` is newest first, `newer` is oldest first. */
export function listOrder(pageDirection: PageDirection): RawBuilder<unknown> {
  return pageDirection === 'older'
    ? sql`coalesce(m.before_seq, m.seq) DESC, m.before_seq IS NULL DESC, m.seq DESC`
    : sql`${KEY}`;
}

const DIGITS = 16;

/** Text with the same sort order as the list. Pure. */
export function positionOf({ seq, before_seq }: Position): string {
  const digits = (value: number): string => String(value).padStart(DIGITS, '0');
  return before_seq === null ? `${digits(seq)}b` : `${digits(before_seq)}a${digits(seq)}`;
}
