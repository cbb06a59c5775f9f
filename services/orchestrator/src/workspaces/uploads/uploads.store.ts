import type { AttachmentType } from '@uswarm/contract';
import { sql } from 'kysely';
import type { Database } from '../../platform/database/database.js';
import type { UploadState } from '../../platform/database/schema.js';
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
  /** An audio file's transcript; null or absent before it is transcribed. */
  transcript?: string | null;
}

export interface UploadFacts {
  state: UploadState;
  owned: boolean;
  /** Stays true when the message is deleted. */
  attached: boolean;
  ageMs: number;
}

const COLUMNS = ['id', 'name', 'type', 'mime_type', 'size', 'duration', 'width', 'height', 'transcript'] as const;

/** @returns false if the upload exists */
export async function insertUpload(db: Database, id: string, userId: string): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await db
    .insertInto('uploads')
    .values({ id, user_id: userId })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirstOrThrow();
  return numInsertedOrUpdatedRows === 1n;
}

/** Counts stored bytes, and files including uploads in progress. */
export async function sumStoredUploads(db: Database, userId: string): Promise<{ bytes: number; files: number }> {
  const { rows } = await sql<{ bytes: number; files: number }>`
    SELECT coalesce(sum(size), 0)::bigint AS bytes, count(*) AS files
    FROM uploads WHERE user_id = ${userId}`.execute(db);
  return rows[0] ?? { bytes: 0, files: 0 };
}

/** @returns false if the upload is no longer in progress */
export async function finishUpload(db: Database, { id, ...upload }: UploadRow): Promise<boolean> {
  const result = await db
    .updateTable('uploads')
    .set({ ...upload, state: 'stored' })
    .where('id', '=', id)
    .where('state', '=', 'receiving')
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

/** @returns false if the file has a transcript, or its user is deleted */
export async function saveTranscript(db: Database, id: string, transcript: string): Promise<boolean> {
  const result = await db
    .updateTable('uploads')
    .set({ transcript })
    .where('id', '=', id)
    .where('transcript', 'is', null)
    .where('user_id', 'is not', null)
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

export function findUpload(db: Database, id: string): Promise<UploadRow | undefined> {
  return db
    .selectFrom('uploads')
    .select(COLUMNS)
    .where('id', '=', id)
    .where('state', '=', 'stored')
    .where('user_id', 'is not', null)
    .executeTakeFirst();
}

/** Returns the user's stored uploads, locked against deletion until the transaction ends. */
export function holdStoredUploads(db: Database, userId: string, ids: readonly string[]): Promise<UploadRow[]> {
  return (
    db
      .selectFrom('uploads')
      .select(COLUMNS)
      .where('id', 'in', [...ids])
      .where('user_id', '=', userId)
      .where('state', '=', 'stored')
      // A stronger lock can deadlock with a concurrent account deletion.
      .forKeyShare()
      .execute()
  );
}

export async function attachUploads(db: Database, messageId: string, ids: readonly string[]): Promise<void> {
  // The order by id prevents a deadlock between two messages with the same attachments.
  await db
    .selectFrom('uploads')
    .select('id')
    .where('id', 'in', [...ids])
    .orderBy('id')
    .forNoKeyUpdate()
    .execute();
  await insertAttachments(db, messageId, ids);
  await db
    .updateTable('uploads')
    .set({ attached: true })
    .where('id', 'in', [...ids])
    .where('attached', '=', false)
    .execute();
}

export function lockUpload(db: Database, id: string): Promise<UploadFacts | undefined> {
  return db
    .selectFrom('uploads')
    .select([
      'state',
      'attached',
      sql<boolean>`user_id IS NOT NULL`.as('owned'),
      sql<number>`(extract(epoch FROM now() - created_at) * 1000)::bigint`.as('ageMs'),
    ])
    .where('id', '=', id)
    .forUpdate()
    .executeTakeFirst();
}

/** Call it after `lock`, so that all committed attachments are visible. */
export async function isUploadAttached(db: Database, id: string): Promise<boolean> {
  const row = await db
    .selectFrom('message_attachments')
    .select('upload_id')
    .where('upload_id', '=', id)
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}

export async function markUploadRemoving(db: Database, id: string): Promise<void> {
  await db.updateTable('uploads').set({ state: 'removing' }).where('id', '=', id).execute();
}

export async function deleteUpload(db: Database, id: string): Promise<void> {
  await db.deleteFrom('uploads').where('id', '=', id).execute();
}
