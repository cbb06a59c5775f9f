import type { AttachmentType } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../database/database.js';
import type { UploadState } from '../../database/schema.js';

/** A complete file. */
export interface UploadRow {
  id: string;
  name: string;
  type: AttachmentType;
  mime_type: string;
  size: number;
}

/** What decides whether an upload is kept. */
export interface UploadFacts {
  state: UploadState;
  owned: boolean;
  /** Whether a message had it at some time. */
  attached: boolean;
  ageMs: number;
}

export interface UploadStore {
  insert(id: string, userId: string, db: Database): Promise<void>;
  /** Locks the user against deletion and concurrent uploads. @returns false if the user does not exist */
  lockUser(userId: string, db: Database): Promise<boolean>;
  /** Stored bytes of a user, and the number of files including those in progress. */
  stored(userId: string, db?: Database): Promise<{ bytes: number; files: number }>;
  /** @returns false if the upload is no longer in progress */
  finish(upload: UploadRow, db: Database): Promise<boolean>;
  find(id: string): Promise<UploadRow | undefined>;
  /** Those of the ids that are stored uploads of the user; none of them is removed until the transaction ends. */
  holdStored(userId: string, ids: readonly string[], db: Database): Promise<UploadRow[]>;
  attach(messageId: string, ids: readonly string[], db: Database): Promise<void>;
  /** Locks the upload. */
  lock(id: string, db: Database): Promise<UploadFacts | undefined>;
  /** To be asked after `lock`: what was committed until then counts. */
  hasMessage(id: string, db: Database): Promise<boolean>;
  markRemoving(id: string, db: Database): Promise<void>;
  delete(id: string, db: Database): Promise<void>;
}

const COLUMNS = ['id', 'name', 'type', 'mime_type', 'size'] as const;

export function createUploadStore(database: Database): UploadStore {
  return {
    async insert(id, userId, db) {
      await db.insertInto('uploads').values({ id, user_id: userId }).execute();
    },

    async lockUser(userId, db) {
      const row = await db
        .selectFrom('users')
        .select('id')
        .where('id', '=', userId)
        .forNoKeyUpdate()
        .executeTakeFirst();
      return row !== undefined;
    },

    async stored(userId, db = database) {
      const { rows } = await sql<{ bytes: number; files: number }>`
        SELECT coalesce(sum(size), 0)::bigint AS bytes, count(*) AS files
        FROM uploads WHERE user_id = ${userId}`.execute(db);
      return rows[0] ?? { bytes: 0, files: 0 };
    },

    async finish({ id, ...upload }, db) {
      const result = await db
        .updateTable('uploads')
        .set({ ...upload, state: 'stored' })
        .where('id', '=', id)
        .where('state', '=', 'receiving')
        .executeTakeFirst();
      return result.numUpdatedRows === 1n;
    },

    find: (id) =>
      database
        .selectFrom('uploads')
        .select(COLUMNS)
        .where('id', '=', id)
        .where('state', '=', 'stored')
        .where('user_id', 'is not', null)
        .executeTakeFirst(),

    holdStored: (userId, ids, db) =>
      db
        .selectFrom('uploads')
        .select(COLUMNS)
        .where('id', 'in', [...ids])
        .where('user_id', '=', userId)
        .where('state', '=', 'stored')
        // No more than that: a deletion of the account, which holds what a message waits for next, goes on.
        .forKeyShare()
        .execute(),

    async attach(messageId, ids, db) {
      // Two messages with the same attachments wait for each other instead of dying together.
      await db
        .selectFrom('uploads')
        .select('id')
        .where('id', 'in', [...ids])
        .orderBy('id')
        .forNoKeyUpdate()
        .execute();
      await db
        .insertInto('message_attachments')
        .values(ids.map((id) => ({ message_id: messageId, upload_id: id })))
        .execute();
      await db
        .updateTable('uploads')
        .set({ attached: true })
        .where('id', 'in', [...ids])
        .where('attached', '=', false)
        .execute();
    },

    lock: (id, db) =>
      db
        .selectFrom('uploads')
        .select([
          'state',
          'attached',
          sql<boolean>`user_id IS NOT NULL`.as('owned'),
          sql<number>`(extract(epoch FROM now() - created_at) * 1000)::bigint`.as('ageMs'),
        ])
        .where('id', '=', id)
        .forUpdate()
        .executeTakeFirst(),

    async hasMessage(id, db) {
      const row = await db
        .selectFrom('message_attachments')
        .select('upload_id')
        .where('upload_id', '=', id)
        .limit(1)
        .executeTakeFirst();
      return row !== undefined;
    },

    async markRemoving(id, db) {
      await db.updateTable('uploads').set({ state: 'removing' }).where('id', '=', id).execute();
    },

    async delete(id, db) {
      await db.deleteFrom('uploads').where('id', '=', id).execute();
    },
  };
}
