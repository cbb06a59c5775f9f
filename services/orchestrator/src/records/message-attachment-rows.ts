import type { Database } from '../platform/database/database.js';

export async function insertAttachments(db: Database, messageId: string, uploadIds: readonly string[]): Promise<void> {
  await db
    .insertInto('message_attachments')
    .values(uploadIds.map((id) => ({ message_id: messageId, upload_id: id })))
    .execute();
}

export async function deleteAttachments(db: Database, messageId: string): Promise<void> {
  await db.deleteFrom('message_attachments').where('message_id', '=', messageId).execute();
}
