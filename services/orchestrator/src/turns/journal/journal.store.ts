import { MAX_TURN_JOURNAL_BYTES } from '@uswarm/service-kit';
import { type RawBuilder, type Selectable, sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { TurnEntriesTable } from '../../platform/database/tables.js';
import { answersUser } from '../../records/answers-user.js';
import { deleteOldEntries, insertEntry } from '../../records/turn-part-rows.js';

/** As later turns in the conversation see it. */
export interface CallRecord {
  tool: string;
  /** JSON, or its beginning. */
  arguments: string;
  failed: boolean;
  /** In the result's order. */
  sources: { title: string; address: string }[];
}

export interface RecentTurns {
  turnIds: string[];
  calls: CallRecord[];
}

/** JSON that only runtimes read. */
export type EntryBody = { body: string } | { objectId: string; hash: Buffer; size: number };

export type StoredEntry = EntryBody & {
  /** From 1 without gaps, over all the turn's generations. */
  number: number;
  kind: 'step' | 'result' | 'steering';
};

export interface JournalEntry {
  number: number;
  kind: StoredEntry['kind'];
  body: string;
}

/** Bytes. A larger body is in the object store. */
export const MAX_ROW_BYTES = 128 * 1024;
/** Bytes: a tool result with four images of 1 MiB. */
export const MAX_ENTRY_BYTES = 6 * 1024 * 1024;

/**
 * `new`: the next entry; `known`: appended before; `refused`: an earlier entry is missing, or the journal would be too
 * large; `stale`: the turn has a later generation.
 */
export type EntryVerdict = 'new' | 'known' | 'refused' | 'stale';

export interface EntryPosition {
  turnId: string;
  generation: number;
  number: number;
  /** Bytes. */
  size: number;
}

const sizeOf = (entry: EntryBody): number => ('body' in entry ? Buffer.byteLength(entry.body) : entry.size);

type EntryRow = Pick<Selectable<TurnEntriesTable>, 'number' | 'kind' | 'body' | 'object_id' | 'hash' | 'size'>;

/** @throws Error for a row without a body, which a constraint prevents */
export function storedEntry({ number, kind, body, object_id: objectId, hash, size }: EntryRow): StoredEntry {
  if (body !== null) return { number, kind, body };
  if (objectId === null || hash === null || size === null) throw new Error('an entry has no body');
  return { number, kind, objectId, hash, size };
}

/** Selects the verdict on an entry; no row if the turn was deleted. */
const verdictOn = ({ turnId, generation, number, size }: EntryPosition): RawBuilder<unknown> => sql`
  SELECT CASE
    WHEN t.generation <> ${generation} THEN 'stale'
    WHEN ${number} <= coalesce(max(e.number), 0) THEN 'known'
    WHEN ${number} = coalesce(max(e.number), 0) + 1
      AND coalesce(sum(coalesce(e.size, octet_length(e.body))), 0) + ${size} <= ${MAX_TURN_JOURNAL_BYTES} THEN 'new'
    ELSE 'refused' END AS verdict
  FROM turns t LEFT JOIN turn_entries e ON e.turn_id = t.id WHERE t.id = ${turnId} GROUP BY t.id`;

export async function judgeEntry(db: Database, entry: EntryPosition): Promise<EntryVerdict> {
  const { rows } = await sql<{ verdict: EntryVerdict }>`${verdictOn(entry)}`.execute(db);
  return rows[0]?.verdict ?? 'stale';
}

/** Appends an entry if it is `new`. Requires the turn's lease. */
export async function appendEntry(
  db: Database,
  { id, generation }: { id: string; generation: number },
  entry: StoredEntry & { call?: CallRecord | undefined },
): Promise<EntryVerdict> {
  const { number, kind, call } = entry;
  const stored =
    'body' in entry
      ? sql`${entry.body}::text, NULL::uuid, NULL::bytea, NULL::integer`
      : sql`NULL::text, ${entry.objectId}::uuid, ${entry.hash}::bytea, ${entry.size}::integer`;
  const record = call === undefined ? null : JSON.stringify(call);
  const { rows } = await sql<{ verdict: EntryVerdict }>`
    WITH judged AS MATERIALIZED (${verdictOn({ turnId: id, generation, number, size: sizeOf(entry) })}), appended AS (
      ${insertEntry({ turnId: id, generation, number, kind, call: record, stored }, sql`FROM judged WHERE verdict = 'new'`)}
    )
    SELECT verdict FROM judged`.execute(db);
  return rows[0]?.verdict ?? 'stale';
}

export async function listEntries(db: Database, turnId: string): Promise<StoredEntry[]> {
  const rows = await db
    .selectFrom('turn_entries')
    .select(['number', 'kind', 'body', 'object_id', 'hash', 'size'])
    .where('turn_id', '=', turnId)
    .orderBy('number')
    .execute();
  return rows.map(storedEntry);
}

export async function isJournalEmpty(db: Database, turnId: string): Promise<boolean> {
  const entry = await db
    .selectFrom('turn_entries')
    .select('number')
    .where('turn_id', '=', turnId)
    .limit(1)
    .executeTakeFirst();
  return entry === undefined;
}

export async function hasJournalObject(db: Database, objectId: string): Promise<boolean> {
  const row = await db
    .selectFrom('turn_entries')
    .select('number')
    .where('object_id', '=', objectId)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

/** Oldest first; only turns that ended before a time. @returns how many were deleted */
export async function pruneJournals(db: Database, before: Date, limit: number): Promise<number> {
  const { numAffectedRows } = await sql`
    WITH old AS MATERIALIZED (
      SELECT e.turn_id, e.number FROM turn_entries e JOIN turns t ON t.id = e.turn_id
      WHERE e.created_at < ${before} AND t.finished_at < ${before} ORDER BY e.created_at LIMIT ${limit}
    )
    ${deleteOldEntries(sql`old`)}`.execute(db);
  return Number(numAffectedRows);
}

/** The conversation's last ended turns before the turns for a user message. */
export async function findRecentTurns(
  db: Database,
  userMessageId: string,
  { turns, calls }: { turns: number; calls: number },
): Promise<RecentTurns> {
  const { rows } = await sql<RecentTurns>`
    WITH recent AS MATERIALIZED (
      SELECT t.id, row_number() OVER (ORDER BY m.seq DESC, t.id DESC) AS place FROM messages asked
      JOIN messages m ON m.conversation_id = asked.conversation_id AND m.seq < asked.seq AND m.role = 'user'
      JOIN turns t ON t.user_message_id = m.id AND t.status NOT IN ('queued', 'running')
        AND t.merged_into_turn_id IS NULL AND ${answersUser('t.id')}
      WHERE asked.id = ${userMessageId} ORDER BY m.seq DESC, t.id DESC LIMIT ${turns}
    ), last AS (
      SELECT e.call, r.place, e.number FROM recent r JOIN turn_entries e ON e.turn_id = r.id AND e.call IS NOT NULL
      ORDER BY r.place, e.number DESC LIMIT ${calls}
    )
    SELECT coalesce((SELECT jsonb_agg(id ORDER BY place DESC) FROM recent), '[]') AS "turnIds",
      coalesce((SELECT jsonb_agg(call ORDER BY place DESC, number) FROM last), '[]') AS calls`.execute(db);
  return rows[0] ?? { turnIds: [], calls: [] };
}

/** The last `limit` recorded calls, ordered by turn and within the turn. */
export async function listCalls(db: Database, turnIds: readonly string[], limit: number): Promise<CallRecord[]> {
  if (turnIds.length === 0) return [];
  const { rows } = await sql<{ call: CallRecord }>`
    SELECT e.call FROM unnest(${[...turnIds]}::uuid[]) WITH ORDINALITY AS wanted (id, place)
    JOIN turn_entries e ON e.turn_id = wanted.id AND e.call IS NOT NULL
    ORDER BY wanted.place DESC, e.number DESC LIMIT ${limit}`.execute(db);
  return rows.map(({ call }) => call).toReversed();
}
