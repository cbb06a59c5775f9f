import { type RawBuilder, sql } from 'kysely';
import type { MessageContent } from '@uswarm/contract';
import type { Database } from '../platform/database/database.js';
import { FORCE_CUSTOM_PLAN } from '../platform/database/prepared.js';
import { READABLE } from '../turns/request/history.store.js';
import type { MessageParts } from '../turns/request/message-to-text.js';
import { hasKeys } from './search.store.js';

/** Where an agent searches. */
export interface SearchPlace {
  workspaceId: string;
  /** Absent: all the workspace's conversations. */
  conversationId?: string;
  /** The message that the agent answers would match its own words. */
  exceptMessageId: string;
  before?: string;
}

/** A message, and which searched words it contains. */
export interface WordMatch {
  id: string;
  seq: number;
  /** By word: 0 if absent, 1 as a part of another word, 2 as a word. */
  matched: number[];
}

export interface FoundMessage {
  id: string;
  conversationId: string;
  title: string | null;
  created_at: Date;
  role: 'user' | 'agent';
  /** Null for users and deleted agents. */
  author: string | null;
  parts: MessageParts;
}

/** Scanned before the index is used, which is slow for words in most messages. */
const SCANNED = 2_000;
const MATCHES = 500;
/** The conversations that changed last; the others are not searched beyond the scanned messages. */
const CONVERSATIONS = 200;

const unpacked = sql`m.search_text || '' AS unpacked`;

const matchedWords = (words: readonly string[]): RawBuilder<unknown> => sql`ARRAY(
  SELECT CASE
    WHEN strpos(m.unpacked, word) = 0 THEN 0
    WHEN word = ANY (regexp_split_to_array(m.unpacked, '[^[:alnum:]]+')) THEN 2
    ELSE 1
  END
  FROM unnest(${[...words]}::text[]) WITH ORDINALITY w (word, place) ORDER BY place
)`;

/** Messages that an agent may read: not the running reply, and none that failed. */
const readable = ({ exceptMessageId, before }: SearchPlace): RawBuilder<unknown> => sql`
  m.search_text IS NOT NULL AND m.status <> 'pending' AND m.id <> ${exceptMessageId} AND ${READABLE}
    AND m.created_at < coalesce(${before ?? null}::timestamptz, 'infinity')`;

/** @returns the query's words as the search compares them, each once */
export async function searchWords(db: Database, query: string): Promise<string[]> {
  const { rows } = await sql<{ folded: string }>`SELECT search_fold(${query}) AS folded`.execute(db);
  return [...new Set((rows[0]?.folded ?? '').split(/\s+/u).filter((word) => word !== ''))];
}

/** The newest messages with any of the words, newest first. `edge`: the oldest scanned seq, if there are older ones. */
export async function matchNewest(
  db: Database,
  place: SearchPlace,
  words: readonly string[],
): Promise<{ matches: WordMatch[]; edge: number | undefined }> {
  const { workspaceId, conversationId } = place;
  const within =
    conversationId === undefined ? sql`m.workspace_id = ${workspaceId}` : sql`m.conversation_id = ${conversationId}`;
  const { rows } = await sql<WordMatch & { edge: number; scanned: number }>`
    ${FORCE_CUSTOM_PLAN}
    WITH newest AS MATERIALIZED (
      SELECT m.id, m.seq, ${unpacked} FROM messages m WHERE ${within} AND ${readable(place)}
      ORDER BY m.seq DESC LIMIT ${SCANNED}
    ), edge AS (
      SELECT min(seq) AS edge, count(*)::int AS scanned FROM newest
    )
    SELECT m.id, m.seq, m.matched, edge, scanned
    FROM edge LEFT JOIN (
      SELECT m.id, m.seq, ${matchedWords(words)} AS matched FROM newest m
    ) m ON 0 < ANY (m.matched)
    ORDER BY m.seq DESC LIMIT ${MATCHES}`.execute(db);
  const [first] = rows;
  return {
    matches: rows.flatMap(({ id, seq, matched }) => (matched === null ? [] : [{ id, seq, matched }])),
    edge: first?.scanned === SCANNED ? first.edge : undefined,
  };
}

/** Messages before `edge` that contain all of `wanted`, found with the index. `matched` is about `words`. */
export async function matchOlder(
  db: Database,
  place: SearchPlace,
  { edge, wanted, words, limit }: { edge: number; wanted: readonly string[]; words: readonly string[]; limit: number },
): Promise<WordMatch[]> {
  const { workspaceId, conversationId = null } = place;
  const conditions = (of: (word: string) => RawBuilder<unknown>) => sql.join(wanted.map(of), sql` AND `);
  const { rows } = await sql<WordMatch>`
    ${FORCE_CUSTOM_PLAN}
    SELECT m.id, m.seq, m.matched
    FROM (
      SELECT id FROM conversations
      WHERE workspace_id = ${workspaceId} AND id = coalesce(${conversationId}::uuid, id)
      ORDER BY updated_at DESC LIMIT ${CONVERSATIONS}
    ) c CROSS JOIN LATERAL (
      SELECT m.id, m.seq, ${matchedWords(words)} AS matched FROM (
        SELECT m.id, m.seq, ${unpacked} FROM messages m
        WHERE ${conditions((word) => hasKeys(sql`c.id`, word))}
          AND m.conversation_id = c.id AND m.seq < ${edge} AND ${readable(place)}
        OFFSET 0
      ) m
      WHERE ${conditions((word) => sql`strpos(m.unpacked, ${word}) > 0`)}
      ORDER BY m.seq DESC LIMIT ${limit}
    ) m
    ORDER BY m.seq DESC LIMIT ${limit}`.execute(db);
  return rows;
}

/** Messages by their ids, in any order. */
export async function readFound(db: Database, workspaceId: string, ids: readonly string[]): Promise<FoundMessage[]> {
  const { rows } = await sql<
    Omit<FoundMessage, 'parts'> & { content: MessageContent; attachments: MessageParts['attachments'] }
  >`
    SELECT m.id, m.conversation_id AS "conversationId", c.title, m.created_at, m.role, a.slug AS author, m.content, m.attachments
    FROM messages m JOIN conversations c ON c.id = m.conversation_id LEFT JOIN agents a ON a.id = m.agent_id
    WHERE m.id = ANY (${[...ids]}::uuid[]) AND m.workspace_id = ${workspaceId}`.execute(db);
  return rows.map(({ content, attachments, ...row }) => ({ ...row, parts: { content, attachments } }));
}
