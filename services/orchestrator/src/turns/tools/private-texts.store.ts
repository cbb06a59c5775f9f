import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';

export interface PrivateTexts {
  /** The workspace's memories and document beginnings, and what the conversation's running turns have read by now. */
  texts: string[];
  /** The user's newest messages in the conversation. */
  named: string[];
}

/** Newest first. More would delay each search. */
const MAX_CHARACTERS = 2_000_000;
const MAX_MESSAGES = 200;
/** Server tools' names. */
const SERVER_TOOLS = String.raw`%\_\_%`;

/**
 * @param readers tools with private results, besides server tools, whose failures are private too
 * @param server whose own results are not private
 */
export async function findPrivateTexts(
  db: Database,
  { workspaceId, conversationId }: { workspaceId: string; conversationId: string },
  readers: readonly string[],
  server?: string,
): Promise<PrivateTexts> {
  const { rows } = await sql<{ text: string; named: boolean }>`
    WITH private AS (
      SELECT m.content AS text, m.updated_at AS at
      FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = ${workspaceId}
      UNION ALL
      SELECT v.title || ' ' || v.preview, v.created_at
      FROM artifacts d JOIN artifact_versions v ON v.artifact_id = d.id AND v.version = d.version
      WHERE d.workspace_id = ${workspaceId}
      UNION ALL
      SELECT c.text, c.created_at FROM turns t JOIN tool_calls c ON c.turn_id = t.id
      WHERE t.conversation_id = ${conversationId} AND (
        (NOT c.failed AND c.tool = ANY (${[...readers]}))
        OR (c.tool LIKE ${SERVER_TOOLS} AND split_part(c.tool, '__', 1) IS DISTINCT FROM ${server ?? null})
      )
    ), newest AS (
      SELECT text, sum(length(text)) OVER (ORDER BY at DESC, text) AS characters FROM private
    ), named AS (
      SELECT content ->> 'text' AS text FROM messages
      WHERE conversation_id = ${conversationId} AND role = 'user' AND sender_id IS NOT NULL AND content ->> 'type' = 'text'
      ORDER BY seq DESC LIMIT ${MAX_MESSAGES}
    )
    SELECT text, false AS named FROM newest WHERE characters <= ${MAX_CHARACTERS}
    UNION ALL SELECT text, true FROM named`.execute(db);
  const of = (named: boolean): string[] => rows.flatMap((row) => (row.named === named ? [row.text] : []));
  return { texts: of(false), named: of(true) };
}
