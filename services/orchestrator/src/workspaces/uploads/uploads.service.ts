import { ApiError, type Attachment } from '@uswarm/contract';
import type { KeyOwner } from '../../platform/idempotency/idempotency.service.js';
import { renderAttachment, storedAttachment } from './attachments.js';
import { createFileOpener, type DownloadRequest, type OpenedFile } from './download.js';
import type { ObjectStore } from '../../records/object-store.js';
import type { UploadLinks } from './upload-links.js';
import type { Transfer, TransferSlots } from './transfer-slots.js';
import { type IncomingFile, receiveFile, type ReceiveUploadDeps } from './receive-upload.js';
import { type UploadRow, findUpload } from './uploads.store.js';

export interface UploadServiceDeps extends ReceiveUploadDeps {
  objects: ObjectStore;
  links: UploadLinks;
  slots: TransferSlots;
  downloads: TransferSlots;
}

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
  receive(owner: KeyOwner, file: IncomingFile & Transfer): Promise<Attachment>;
  /** @throws ApiError `upload_link_invalid`, `upload_not_found`, `range_not_satisfiable` */
  download(request: DownloadRequest): Promise<Download>;
}

export function createUploadService(deps: UploadServiceDeps): UploadService {
  const { database, objects, links, slots, downloads } = deps;
  const openFile = createFileOpener(objects, 'upload_not_found', downloads);

  return {
    async receive(owner, file) {
      const release = slots.take(owner.userId, file);
      try {
        return renderAttachment(storedAttachment(await receiveFile(deps, owner, file)), links);
      } finally {
        release();
      }
    },

    async download(request) {
      const secondsLeft = links.secondsLeft(request.id, request.signature);
      if (secondsLeft === undefined) throw new ApiError('upload_link_invalid');
      const upload = await findUpload(database, request.id);
      if (upload === undefined) throw new ApiError('upload_not_found');
      return { upload, ...openFile({ key: upload.id, size: upload.size, secondsLeft }, request) };
    },
  };
}
