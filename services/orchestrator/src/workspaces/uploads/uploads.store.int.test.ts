import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { insertMessages, insertWorkspaces } from '../../../test/bulk-data.js';
import { sequentialScans } from '../../../test/query-plans.js';
import type { Transaction } from '../../platform/database/database.js';
import {
  sumStoredUploads,
  findUpload,
  holdStoredUploads,
  lockUpload,
  isUploadAttached,
  finishUpload,
} from './uploads.store.js';
import { withoutAfterCommit } from '../../../test/transaction.js';

const EMPTY_FILE = {
  name: '',
  type: 'file',
  mime_type: '',
  duration: null,
  width: null,
  height: null,
  size: 1,
} as const;

describe('upload statements', () => {
  let db: MigratedDatabase;
  let place: { userId: string; uploadId: string; messageId: string };
  beforeAll(async () => {
    db = await createMigratedDatabase();
    await insertWorkspaces(db.database, 2_000);
    await insertMessages(db.database, 5);
    await sql`
      INSERT INTO uploads (id, user_id, state, size)
      SELECT gen_random_uuid(), id, 'stored', n FROM users CROSS JOIN generate_series(1, 5) n`.execute(db.database);
    await sql`
      INSERT INTO message_attachments (message_id, upload_id)
      SELECT m.id, u.id FROM messages m JOIN uploads u ON u.user_id = m.sender_id AND u.size = m.seq`.execute(
      db.database,
    );
    await sql`VACUUM ANALYZE`.execute(db.database);
    const { rows } = await sql<typeof place>`
      SELECT u.user_id AS "userId", u.id AS "uploadId", a.message_id AS "messageId"
      FROM uploads u JOIN message_attachments a ON a.upload_id = u.id LIMIT 1`.execute(db.database);
    [place] = rows as [typeof place];
  });
  afterAll(() => db.close());

  it.each<[string, (tx: Transaction) => Promise<unknown>]>([
    ['the stored bytes of a user', (tx) => sumStoredUploads(tx, place.userId)],
    ['a download', (tx) => findUpload(tx, place.uploadId)],
    ['the attachments of a new message', (tx) => holdStoredUploads(tx, place.userId, [place.uploadId])],
    ['the lock of an upload', (tx) => lockUpload(tx, place.uploadId)],
    ['the check for a message', (tx) => isUploadAttached(tx, place.uploadId)],
    ['the completion of an upload', (tx) => finishUpload(tx, { ...EMPTY_FILE, id: place.uploadId })],
    ['the deletion of a message', (tx) => tx.deleteFrom('messages').where('id', '=', place.messageId).execute()],
  ])('%s needs no sequential scan', async (_what, use) => {
    expect(await sequentialScans(db.database, (database) => use(withoutAfterCommit(database)))).toEqual([]);
  });

  it('the stored bytes of a user are the sum of the sizes, and zero for an unknown user', async () => {
    expect(await sumStoredUploads(db.database, crypto.randomUUID())).toEqual({ bytes: 0, files: 0 });
    const other = await db.database
      .selectFrom('users')
      .select('id')
      .where('id', '!=', place.userId)
      .limit(1)
      .executeTakeFirstOrThrow();
    expect((await sumStoredUploads(db.database, other.id)).bytes).toBe(15);
  });
});
