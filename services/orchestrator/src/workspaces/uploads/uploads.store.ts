import type { AttachmentType } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { UploadState } from '../../platform/database/schema.js';
import { lockUser } from '../../records/lock-user.js';
import { insertAttachments } from '../../records/message-attachment-rows.js';

export interface UploadRow {
  id: string;
  name: string;
  type: AttachmentType;
  mime_type: string;
  size: number;
  /** Audio or video seconds; null if unknown. */
  duration: number | null;
  /** Displayed size in pixels; null if unknown. */
  width: number | null;
  height: number | null;
}

export interface UploadFacts {
  state: UploadState;
  owned: boolean;
  /** Stays true when the message is deleted. */
  attached: boolean;
  ageMs: number;
}

export interface UploadStore {
  /** @returns false if the upload exists */
  insert(id: string, userId: string, db: Database): Promise<boolean>;
  /** Locks the user against deletion and concurrent uploads. @returns false if the user does not exist */
  lockUser(userId: string, db: Database): Promise<boolean>;
  /** Counts stored bytes, and files including uploads in progress. */
  stored(userId: string, db?: Database): Promise<{ bytes: number; files: number }>;
  /** @returns false if the upload is no longer in progress */
  finish(upload: UploadRow, db: Database): Promise<boolean>;
  find(id: string, db?: Database): Promise<UploadRow | undefined>;
  /** Returns the user's stored uploads, locked against deletion until the transaction ends. */
  holdStored(userId: string, ids: readonly string[], db: Database): Promise<UploadRow[]>;
  attach(messageId: string, ids: readonly string[], db: Database): Promise<void>;
  lock(id: string, db: Database): Promise<UploadFacts | undefined>;
  /** Call it after `lock`, so that all committed attachments are visible. */
  hasMessage(id: string, db: Database): Promise<boolean>;
  markRemoving(id: string, db: Database): Promise<void>;
  delete(id: string, db: Database): Promise<void>;
}

const COLUMNS = ['id', 'name', 'type', 'mime_type', 'size', 'duration', 'width', 'height'] as const;

export function createUploadStore(database: Database): UploadStore {
  return {
    async insert(id, userId, db) {
      const { numInsertedOrUpdatedRows } = await db
        .insertInto('uploads')
        .values({ id, user_id: userId })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirstOrThrow();
      return numInsertedOrUpdatedRows === 1n;
    },

    lockUser,

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

    find: (id, db = database) =>
      db
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
        // A stronger lock can deadlock with a concurrent account deletion.
        .forKeyShare()
        .execute(),

    async attach(messageId, ids, db) {
      // The order by id prevents a deadlock between two messages with the same attachments.
      await db
        .selectFrom('uploads')
        .select('id')
        .where('id', 'in', [...ids])
        .orderBy('id')
        .forNoKeyUpdate()
        .execute();
      await insertAttachments(messageId, ids, db);
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
