import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { insertMessages, insertWorkspaces } from '../../../test/bulk-data.js';
import { sequentialScans } from '../../../test/query-plans.js';
import type { Transaction } from '../../platform/database/database.js';
import { createUploadStore, type UploadStore } from './uploads.store.js';
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

  it.each<[string, (store: UploadStore, tx: Transaction) => Promise<unknown>]>([
    ['the stored bytes of a user', (store, tx) => store.stored(place.userId, tx)],
    ['a download', (store) => store.find(place.uploadId)],
    ['the attachments of a new message', (store, tx) => store.holdStored(place.userId, [place.uploadId], tx)],
    ['the lock of an upload', (store, tx) => store.lock(place.uploadId, tx)],
    ['the check for a message', (store, tx) => store.hasMessage(place.uploadId, tx)],
    ['the completion of an upload', (store, tx) => store.finish({ ...EMPTY_FILE, id: place.uploadId }, tx)],
    [
      'the deletion of a message',
      (_store, tx) => tx.deleteFrom('messages').where('id', '=', place.messageId).execute(),
    ],
  ])('%s needs no sequential scan', async (_what, use) => {
    expect(
      await sequentialScans(db.database, (database) => use(createUploadStore(database), withoutAfterCommit(database))),
    ).toEqual([]);
  });

  it('the stored bytes of a user are the sum of the sizes, and zero for an unknown user', async () => {
    const store = createUploadStore(db.database);
    expect(await store.stored(crypto.randomUUID())).toEqual({ bytes: 0, files: 0 });
    const other = await db.database
      .selectFrom('users')
      .select('id')
      .where('id', '!=', place.userId)
      .limit(1)
      .executeTakeFirstOrThrow();
    expect((await store.stored(other.id)).bytes).toBe(15);
  });
});
