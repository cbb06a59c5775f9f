import { READ_PAGE_TOOL, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { addressTexts } from './known-addresses.js';

/** Newest first. More would delay each page. */
const MAX_CHARACTERS = 1_000_000;
const MAX_MESSAGES = 200;

interface Row {
  kind: 'user' | 'search' | 'page' | 'app';
  text: string;
}

/**
 * Texts whose addresses an agent may open without asking: what the user wrote in the conversation, and what searches, pages
 * and connected apps returned in it. Documents, memories and other agents' answers do not count, because a model wrote them.
 *
 * @param readers tools that read connected apps. Server tools are none: they can repeat an address that a model wrote
 */
export async function findAddressTexts(
  db: Database,
  conversationId: string,
  readers: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<Row>`
    WITH results AS (
      SELECT CASE e.call ->> 'tool' WHEN ${WEB_SEARCH_TOOL} THEN 'search' ELSE 'page' END AS kind, e.body AS text, e.created_at AS at
      FROM turns t JOIN turn_entries e ON e.turn_id = t.id
      WHERE t.conversation_id = ${conversationId} AND e.kind = 'result' AND e.body IS NOT NULL
        AND e.call ->> 'tool' IN (${WEB_SEARCH_TOOL}, ${READ_PAGE_TOOL}) AND NOT (e.call ->> 'failed')::boolean
      UNION ALL
      SELECT 'app', c.text, c.created_at FROM turns t JOIN tool_calls c ON c.turn_id = t.id
      WHERE t.conversation_id = ${conversationId} AND NOT c.failed AND c.tool = ANY (${[...readers]})
    ), newest AS (
      SELECT kind, text, sum(length(text)) OVER (ORDER BY at DESC, text) AS characters FROM results
    ), named AS (
      SELECT content ->> 'text' AS text FROM messages
      WHERE conversation_id = ${conversationId} AND role = 'user' AND sender_id IS NOT NULL AND content ->> 'type' = 'text'
      ORDER BY seq DESC LIMIT ${MAX_MESSAGES}
    )
    SELECT kind, text FROM newest WHERE characters <= ${MAX_CHARACTERS}
    UNION ALL SELECT 'user', text FROM named`.execute(db);
  return rows.flatMap(({ kind, text }) =>
    kind === 'user' || kind === 'app' ? [text] : resultTexts(text).flatMap((result) => addressTexts(kind, result)),
  );
}

/** The result as the model reads it, from a journal entry that the runtime wrote. */
function resultTexts(body: string): string[] {
  const texts: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value === 'string') texts.push(value);
    else if (typeof value === 'object' && value !== null) Object.values(value).forEach(collect);
  };
  try {
    collect((JSON.parse(body) as { part?: { output?: unknown } }).part?.output);
  } catch {
    // The runtime wrote it, and it may not be JSON.
  }
  return texts;
}

/**
 * Searches and pages of a turn after its conversation got content from others, as far as they have a result. The call that
 * brought the first such content came before it.
 */
export async function countLookups(db: Database, turn: { id: string; conversationId: string }): Promise<number> {
  const { rows } = await sql<{ made: number }>`
    SELECT (
      SELECT count(*)::int FROM turn_entries e
      WHERE e.turn_id = ${turn.id} AND e.call ->> 'tool' IN (${WEB_SEARCH_TOOL}, ${READ_PAGE_TOOL})
    ) - (
      SELECT count(*)::int FROM untrusted_contents u
      WHERE u.conversation_id = ${turn.conversationId} AND u.turn_id = ${turn.id} AND u.source = 'web'
    ) AS made`.execute(db);
  return Math.max(0, rows[0]?.made ?? 0);
}
