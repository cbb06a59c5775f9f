import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';

/** Leaves out files that no message in the conversation has. */
export async function conversationFiles(
  db: Database,
  conversationId: string,
  ids: readonly string[],
): Promise<StoredFile[]> {
  const { rows } = await sql<StoredFile>`
    SELECT id, name, type, mime_type, size, transcript FROM uploads u
    WHERE id = ANY (${[...ids]}::uuid[]) AND state = 'stored' AND EXISTS (
      SELECT FROM message_attachments a JOIN messages m ON m.id = a.message_id
      WHERE a.upload_id = u.id AND m.conversation_id = ${conversationId})`.execute(db);
  return rows;
}

/** Newest message first; a file that is attached twice is there twice. */
export async function newestFiles(db: Database, conversationId: string, limit: number): Promise<StoredFile[]> {
  const { rows } = await sql<StoredFile>`
    SELECT u.id, u.name, u.type, u.mime_type, u.size, u.transcript
    FROM messages m JOIN message_attachments a ON a.message_id = m.id JOIN uploads u ON u.id = a.upload_id
    WHERE m.conversation_id = ${conversationId} AND u.state = 'stored'
    ORDER BY m.seq DESC LIMIT ${limit}`.execute(db);
  return rows;
}
