import { ApiError, type Attachment } from '@uswarm/contract';
import type { KeyOwner } from '../idempotency/idempotency.service.js';
import { renderAttachment, storedAttachment } from './attachments.js';
import { createFileOpener, type DownloadRequest, type OpenedFile } from './download.js';
import type { ObjectStore } from './object-store.js';
import type { UploadLinks } from './upload-links.js';
import { type IncomingFile, receiveFile, type ReceiveUploadDeps } from './receive-upload.js';
import type { UploadRow, UploadStore } from './uploads.store.js';

export interface UploadServiceDeps extends Omit<ReceiveUploadDeps, 'store'> {
  store: ReceiveUploadDeps['store'] & Pick<UploadStore, 'find'>;
  objects: ObjectStore;
  links: UploadLinks;
  /** Maximum concurrent uploads of this process, which bounds its memory. */
  maxConcurrent: number;
  /** Maximum concurrent uploads per user. */
  maxConcurrentPerUser: number;
}

/** A file, or a part of it, that is ready to be sent. */
export interface Download extends OpenedFile {
  upload: UploadRow;
}

export interface UploadService {
  /**
   * Stores a file while it is received. A failed upload is deleted.
   *
   * @throws ApiError `upload_quota_exceeded`, `upload_limit_reached`, `idempotency_key_reused`, `service_unavailable`,
   *   and `rate_limited` if there are too many concurrent uploads
   */
  receive(owner: KeyOwner, file: IncomingFile): Promise<Attachment>;
  /** @throws ApiError `upload_link_invalid`, `upload_not_found`, `range_not_satisfiable` */
  download(request: DownloadRequest): Promise<Download>;
}

const BUSY_RETRY_MS = 2_000;

export function createUploadService(deps: UploadServiceDeps): UploadService {
  const { store, objects, links, maxConcurrent, maxConcurrentPerUser } = deps;
  let receiving = 0;
  const receivingOf = new Map<string, number>();

  const openFile = createFileOpener(objects, 'upload_not_found');

  return {
    async receive(owner, file) {
      const { userId } = owner;
      const ofUser = receivingOf.get(userId) ?? 0;
      if (receiving >= maxConcurrent || ofUser >= maxConcurrentPerUser) {
        throw new ApiError('rate_limited', { extra: { retry_after_ms: BUSY_RETRY_MS } });
      }
      receiving += 1;
      receivingOf.set(userId, ofUser + 1);
      try {
        return renderAttachment(storedAttachment(await receiveFile(deps, owner, file)), links);
      } finally {
        receiving -= 1;
        const left = (receivingOf.get(userId) ?? 1) - 1;
        if (left > 0) receivingOf.set(userId, left);
        else receivingOf.delete(userId);
      }
    },

    async download(request) {
      if (!links.valid(request.id, request.signature)) throw new ApiError('upload_link_invalid');
      const upload = await store.find(request.id);
      if (upload === undefined) throw new ApiError('upload_not_found');
      return { upload, ...openFile(upload.id, upload.size, request) };
    },
  };
}
