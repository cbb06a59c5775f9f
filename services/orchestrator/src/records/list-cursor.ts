import { ApiError } from '@uswarm/contract';
import { parseJson } from '@uswarm/service-kit';
import { type RawBuilder, sql } from 'kysely';
import { z } from 'zod';
import { createSeal } from './cursor.js';

/** A position in a list that is sorted by time, then by key. */
export interface ListPosition {
  /** With microseconds: `2026-11-22T10:00:00.123456Z`. */
  time: string;
  key: string;
}

const VERSION = 1;
const Payload = z.tuple([z.literal(VERSION), z.iso.datetime(), z.string()]);

/** The scope is what selects the list, such as user and workspace. A cursor is invalid in any other scope. */
export interface ListCursorCodec {
  encode(position: ListPosition, scope: readonly unknown[]): string;
  /** @throws ApiError `cursor_invalid` unless this codec created the cursor for this scope */
  decode(text: string, scope: readonly unknown[]): ListPosition;
}

/**
 * Opaque, signed cursors for lists.
 *
 * @param previous older keys whose cursors are still accepted
 */
export function createListCursors(list: string, key: string, previous: readonly string[] = []): ListCursorCodec {
  const seal = createSeal(key, previous);
  return {
    encode: (position, scope) => seal.close(JSON.stringify([VERSION, position.time, position.key]), [list, ...scope]),
    decode(text, scope) {
      const parsed = Payload.safeParse(parseJson(seal.open(text, [list, ...scope])));
      if (!parsed.success) throw new ApiError('cursor_invalid');
      const [, time, positionKey] = parsed.data;
      return { time, key: positionKey };
    },
  };
}

/** A position as Postgres JSON: JavaScript dates have no microseconds. */
export const listPosition = (time: string, key: string): RawBuilder<ListPosition> => sql`
  jsonb_build_object(
    'time', to_char(${sql.ref(time)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'key', ${sql.ref(key)}
  )`;
