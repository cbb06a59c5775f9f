import { createHash, randomUUIDv7 } from 'node:crypto';
import type { Readable } from 'node:stream';
import { ApiError } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import type { Transaction, WithTransaction, Database } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import {
  type CreatingRequest,
  DuplicateRequest,
  type Idempotency,
  type KeyOwner,
  keyWithoutResult,
} from '../../platform/idempotency/idempotency.service.js';
import { attachmentType, sniffMediaType, SNIFFED_BYTES } from './file-kind.js';
import { cleanName } from './file-names.js';
import type { FileDetails, SniffedUpload } from './file-details.js';
import type { ObjectStore } from '../../records/object-store.js';
import { putCounted } from '../../records/put-counted.js';
import { ABANDONED_AFTER_MS, ORPHANED_AFTER_MS, UPLOAD_JOB } from './upload-retention.js';
import {
  type UploadRow,
  sumStoredUploads,
  insertUpload,
  findUpload,
  finishUpload,
  deleteUpload,
} from './uploads.store.js';
import { lockUser } from '../../records/lock-user.js';

export interface IncomingFile {
  name: string | undefined;
  /** Fails if the file is too large or the connection closes early. */
  content: Readable;
  /** Resolves at the end of the request; rejects if the request is aborted after the file. */
  complete: Promise<void>;
}

export interface ReceiveUploadDeps {
  withTransaction: WithTransaction;
  database: Database;
  jobs: Pick<JobQueue, 'enqueue' | 'cancel'>;
  objects: Pick<ObjectStore, 'put' | 'remove'>;
  detailsOf: FileDetails;
  idempotency: Pick<Idempotency, 'isUsed' | 'earlier' | 'claim'>;
  bytesPerUser: number;
  filesPerUser: number;
  logger: Logger;
}

/**
 * Stores the row in state `receiving`, then the object, and then marks the row as complete. If the process crashes in
 * between, the retention job deletes what is left.
 */
export async function receiveFile(deps: ReceiveUploadDeps, owner: KeyOwner, file: IncomingFile): Promise<UploadRow> {
  if (await deps.idempotency.isUsed(owner)) return receiveAgain(deps, owner, file);
  const { withTransaction } = deps;
  const { userId } = owner;
  const id = randomUUIDv7();
  await withTransaction(async (tx) => {
    if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
    const { bytes, files } = await sumStoredUploads(tx, userId);
    if (bytes >= deps.bytesPerUser) throw new ApiError('upload_quota_exceeded');
    if (files >= deps.filesPerUser) throw new ApiError('upload_limit_reached');
    await insertUpload(tx, id, userId);
    await scheduleRetention(deps, id, ABANDONED_AFTER_MS, tx);
  });
  let request: CreatingRequest | undefined;
  try {
    const { stored, digest } = await storeObject(deps, id, file);
    await file.complete;
    const upload = await deps.detailsOf(stored);
    const known = requestOf(owner, file, digest);
    request = known;
    await withTransaction((tx) => admit(deps, known, upload, tx));
    return upload;
  } catch (error) {
    await forget(deps, id);
    if (error instanceof DuplicateRequest && request !== undefined) return firstResult(deps, request);
    throw error;
  }
}

/** Reads a file that was uploaded before, to compare its digest. */
async function receiveAgain(deps: ReceiveUploadDeps, owner: KeyOwner, file: IncomingFile): Promise<UploadRow> {
  const hash = createHash('sha256');
  for await (const chunk of file.content) hash.update(chunk as Buffer);
  await file.complete;
  return firstResult(deps, requestOf(owner, file, hash.digest('hex')));
}

async function firstResult({ database, idempotency }: ReceiveUploadDeps, request: CreatingRequest): Promise<UploadRow> {
  const id = await idempotency.earlier(request);
  const upload = id === undefined ? undefined : await findUpload(database, id);
  if (upload === undefined) throw keyWithoutResult();
  return upload;
}

const requestOf = (owner: KeyOwner, { name }: IncomingFile, digest: string): CreatingRequest => ({
  ...owner,
  operation: 'createUpload',
  content: { name: name ?? null, digest },
});

function scheduleRetention({ jobs }: ReceiveUploadDeps, id: string, dueInMs: number, tx: Transaction): Promise<void> {
  return jobs.enqueue({ kind: UPLOAD_JOB, subjectId: id, workspaceId: id, dueInMs }, tx);
}

/** Locks the user, so that concurrent uploads cannot exceed the quota together. */
async function admit(
  deps: ReceiveUploadDeps,
  request: CreatingRequest,
  upload: UploadRow,
  tx: Transaction,
): Promise<void> {
  const { bytesPerUser } = deps;
  const { userId } = request;
  if (!(await lockUser(tx, userId))) throw new ApiError('user_deleted');
  await deps.idempotency.claim(request)(upload.id, tx);
  if ((await sumStoredUploads(tx, userId)).bytes + upload.size > bytesPerUser)
    throw new ApiError('upload_quota_exceeded');
  if (!(await finishUpload(tx, upload))) throw new ApiError('internal_error');
  await scheduleRetention(deps, upload.id, ORPHANED_AFTER_MS, tx);
}

/** @returns the bytes @throws the content's error; ApiError `service_unavailable` if the store fails */
export async function putContent(
  objects: Pick<ObjectStore, 'put'>,
  id: string,
  content: Readable,
  chunks: AsyncIterable<Buffer> = content,
): Promise<number> {
  try {
    return await putCounted(objects, id, chunks);
  } catch (error) {
    if (content.errored !== null) throw content.errored;
    throw new ApiError('service_unavailable', { cause: error });
  }
}

/** @throws the errors of `putContent` */
async function storeObject(
  { objects }: ReceiveUploadDeps,
  id: string,
  file: IncomingFile,
): Promise<{ stored: SniffedUpload; digest: string }> {
  const chunks = file.content.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  const { head, all } = await readHead(chunks);
  const mediaType = await sniffMediaType(head);
  const hash = createHash('sha256');
  async function* hashed(): AsyncGenerator<Buffer> {
    for await (const chunk of all) {
      hash.update(chunk);
      yield chunk;
    }
  }
  const size = await putContent(objects, id, file.content, hashed());
  const stored = { id, name: cleanName(file.name), type: attachmentType(mediaType), mime_type: mediaType, size };
  return { stored, digest: hash.digest('hex') };
}

async function next(chunks: AsyncIterator<Buffer>): Promise<Buffer | undefined> {
  const result = await chunks.next();
  return result.done === true ? undefined : result.value;
}

/** Reads enough chunks to detect the file type. `all` has these too, and never ends the iterator. */
export async function readHead(
  chunks: AsyncIterator<Buffer>,
): Promise<{ head: Buffer; all: AsyncGenerator<Buffer, void> }> {
  const start: Buffer[] = [];
  for (let length = 0; length < SNIFFED_BYTES;) {
    const chunk = await next(chunks);
    if (chunk === undefined) break;
    start.push(chunk);
    length += chunk.length;
  }
  const head = Buffer.concat(start).subarray(0, SNIFFED_BYTES);
  async function* all(): AsyncGenerator<Buffer, void> {
    for (let chunk = start.shift(); chunk !== undefined; chunk = start.shift() ?? (await next(chunks))) yield chunk;
  }
  return { head, all: all() };
}

/** Deletes the object before its row, because only the row refers to the object. */
async function forget({ objects, jobs, withTransaction, logger }: ReceiveUploadDeps, id: string): Promise<void> {
  try {
    await objects.remove(id);
    await withTransaction(async (tx) => {
      await deleteUpload(tx, id);
      await jobs.cancel(UPLOAD_JOB, id, tx);
    });
  } catch (error) {
    logger.warn({ err: error, upload: id }, 'deleting a failed upload failed; will retry');
  }
}
