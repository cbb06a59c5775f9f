import type { Database } from '../../platform/database/database.js';
import type { StoredFile } from '../../turns/request/message-to-text.js';

const COLUMNS = ['uploads.id', 'uploads.name', 'uploads.type', 'uploads.mime_type', 'uploads.size'] as const;

const attached = (db: Database, conversationId: string) =>
  db
    .selectFrom('message_attachments')
    .innerJoin('messages', 'messages.id', 'message_attachments.message_id')
    .innerJoin('uploads', 'uploads.id', 'message_attachments.upload_id')
    .select(COLUMNS)
    .where('messages.conversation_id', '=', conversationId)
    .where('uploads.state', '=', 'stored')
    .orderBy('messages.seq', 'desc');

/** Leaves out files that are not attached to one of the conversation's messages. */
export const conversationFiles = (
  db: Database,
  conversationId: string,
  ids: readonly string[],
): Promise<StoredFile[]> =>
  attached(db, conversationId)
    .where('message_attachments.upload_id', 'in', [...ids])
    .execute();

/** Newest message first. */
export const newestFiles = (db: Database, conversationId: string, limit: number): Promise<StoredFile[]> =>
  attached(db, conversationId).limit(limit).execute();
