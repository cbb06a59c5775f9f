import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import { areMemoriesOf } from '../../records/memories.store.js';
import type { StoredText } from './platform-tool.js';
import type { UntrustedSource } from './untrusted-content.js';

export interface ReadingTurn {
  id: string;
  conversation_id: string;
  agent_id: string;
}

/** Each text of these kinds is marked separately. */
const KINDS = ['memory', 'artifact'] as const;

/** The texts' table as `m`, and the condition that selects them. */
function rowsOf(kind: (typeof KINDS)[number], agentId: string, texts: readonly StoredText[]) {
  if (kind === 'memory') {
    const keys = texts.flatMap((text) => (text.kind === 'memory' ? [text.key] : []));
    return { table: sql`agent_memories m`, condition: areMemoriesOf(agentId, keys) };
  }
  const versions = texts.flatMap((text) => (text.kind === 'artifact' ? [text] : []));
  const [ids, numbers] = [versions.map(({ id }) => id), versions.map(({ version }) => version)];
  const named = sql`SELECT * FROM unnest(${ids}::uuid[], ${numbers}::int[])`;
  return { table: sql`artifact_versions m`, condition: sql`(m.artifact_id, m.version) IN (${named})` };
}

const kindsOf = (texts: readonly StoredText[]) => KINDS.filter((kind) => texts.some((text) => text.kind === kind));

export async function findUntrustedSources(db: Database, conversationId: string): Promise<UntrustedSource[]> {
  const rows = await db
    .selectFrom('untrusted_contents')
    .select('source')
    .where('conversation_id', '=', conversationId)
    .execute();
  return rows.map(({ source }) => source as UntrustedSource);
}

export async function addUntrustedSources(
  db: Database,
  { id, conversation_id: conversationId }: ReadingTurn,
  sources: readonly UntrustedSource[],
): Promise<void> {
  if (sources.length === 0) return;
  await sql`
    INSERT INTO untrusted_contents (conversation_id, source, turn_id)
    SELECT ${conversationId}::uuid, source, ${id}::uuid FROM unnest(${[...sources]}::text[]) AS kinds (source)
    ON CONFLICT DO NOTHING`.execute(db);
}

/** Marks imported conversations: their texts came in a file. */
export async function markImported(
  db: Database,
  conversationId: string,
  sources: readonly UntrustedSource[],
): Promise<void> {
  await sql`
    INSERT INTO untrusted_contents (conversation_id, source)
    SELECT ${conversationId}::uuid, source FROM unnest(${[...sources]}::text[]) AS kinds (source)`.execute(db);
}

/**
 * Records that the turn has read these texts, as far as they are untrusted. Messages are if their conversation has
 * content from others.
 */
export async function recordReadTexts(
  db: Database,
  { id, conversation_id: conversationId, agent_id: agentId }: ReadingTurn,
  texts: readonly StoredText[],
): Promise<void> {
  const conversations = texts.flatMap((text) => (text.kind === 'conversation' ? [text.id] : []));
  if (conversations.length > 0) {
    await sql`
      INSERT INTO untrusted_contents (conversation_id, source, turn_id)
      SELECT DISTINCT ${conversationId}::uuid, source, ${id}::uuid FROM untrusted_contents
      WHERE conversation_id = ANY (${conversations}::uuid[]) AND conversation_id <> ${conversationId}
      ON CONFLICT DO NOTHING`.execute(db);
  }
  for (const kind of kindsOf(texts)) {
    const { table, condition } = rowsOf(kind, agentId, texts);
    await sql`
      INSERT INTO untrusted_contents (conversation_id, source, turn_id)
      SELECT ${conversationId}, ${kind}, ${id} WHERE EXISTS (SELECT FROM ${table} WHERE ${condition} AND m.untrusted)
      ON CONFLICT DO NOTHING`.execute(db);
  }
}

/** Texts that the turn has written are untrusted if its conversation has content from others. */
export async function recordWrittenTexts(
  db: Database,
  { conversation_id: conversationId, agent_id: agentId }: ReadingTurn,
  texts: readonly StoredText[],
): Promise<void> {
  for (const kind of kindsOf(texts)) {
    const { table, condition } = rowsOf(kind, agentId, texts);
    await sql`
      UPDATE ${table} SET untrusted = EXISTS (
        SELECT FROM untrusted_contents WHERE conversation_id = ${conversationId}
      ) WHERE ${condition}`.execute(db);
  }
}
