import { Readable } from 'node:stream';
import { ApiError } from '@uswarm/contract';
import { lockUser } from '../../records/lock-user.js';
import type { ReceiveUploadDeps } from './receive-upload.js';
import { ABANDONED_AFTER_MS, ORPHANED_AFTER_MS, UPLOAD_JOB } from './upload-retention.js';
import { findUpload, finishUpload, insertUpload, sumStoredUploads, type UploadRow } from './uploads.store.js';

export type StoreFileDeps = Pick<
  ReceiveUploadDeps,
  'withTransaction' | 'jobs' | 'objects' | 'bytesPerUser' | 'filesPerUser'
> &
  Partial<Pick<ReceiveUploadDeps, 'detailsOf'>>;

/**
 * Stores a file as an upload of the user, in the order of `receiveFile`. Repeating it stores nothing again. A file that
 * no message gets is deleted like any other.
 *
 * @param upload its id follows from its bytes, or from where they are. With `detailsOf`, the stored bytes determine the
 *   rest
 * @param content if it fails, so does this function, with an error that has the content's as `cause`
 * @throws ApiError `upload_quota_exceeded`, `upload_limit_reached`, `user_deleted`, `service_unavailable`
 */
export async function storeFile(
  deps: StoreFileDeps,
  userId: string,
  upload: UploadRow,
  content: Uint8Array | Readable,
): Promise<void> {
  const { withTransaction, jobs, objects } = deps;
  const { id, size } = upload;
  const retain = { kind: UPLOAD_JOB, subjectId: id, workspaceId: id };
  const isStored = await withTransaction(async (tx) => {
    if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
    if ((await findUpload(tx, id)) !== undefined) return true;
    const stored = await sumStoredUploads(tx, userId);
    if (stored.bytes + size > deps.bytesPerUser) throw new ApiError('upload_quota_exceeded');
    if (await insertUpload(tx, id, userId)) {
      if (stored.files >= deps.filesPerUser) throw new ApiError('upload_limit_reached');
      await jobs.enqueue({ ...retain, dueInMs: ABANDONED_AFTER_MS }, tx);
    }
    return false;
  });
  if (isStored) return;
  try {
    await objects.put(id, content instanceof Readable ? content : Readable.from([content], { objectMode: false }));
  } catch (error) {
    throw new ApiError('service_unavailable', { cause: error });
  }
  const stored = (await deps.detailsOf?.(upload)) ?? upload;
  await withTransaction(async (tx) => {
    if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
    if ((await sumStoredUploads(tx, userId)).bytes + size > deps.bytesPerUser)
      throw new ApiError('upload_quota_exceeded');
    // Another process may have stored the same call's file meanwhile.
    if (await finishUpload(tx, stored)) await jobs.enqueue({ ...retain, dueInMs: ORPHANED_AFTER_MS }, tx);
  });
}
