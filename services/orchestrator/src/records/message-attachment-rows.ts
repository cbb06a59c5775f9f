import type { Database } from '../platform/database/database.js';

export async function insertAttachments(messageId: string, uploadIds: readonly string[], db: Database): Promise<void> {
  await db
    .insertInto('message_attachments')
    .values(uploadIds.map((id) => ({ message_id: messageId, upload_id: id })))
    .execute();
}

export async function deleteAttachments(messageId: string, db: Database): Promise<void> {
  await db.deleteFrom('message_attachments').where('message_id', '=', messageId).execute();
}
