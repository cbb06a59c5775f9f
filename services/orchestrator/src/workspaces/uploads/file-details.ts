import { createTaskQueue, type Logger, unlessAborted } from '@uswarm/service-kit';
import { attachmentType, isContainer, isMedia, isPicture } from './file-kind.js';
import { readMedia } from './media.js';
import { readOfficeType } from './office-files.js';
import type { ObjectStore } from '../../records/object-store.js';
import { ObjectTokenizer } from './object-tokenizer.js';
import { readPictureSize } from './picture-size.js';
import type { UploadRow } from './uploads.store.js';

/** Without a header that states the duration, the whole file is read. */
const MAX_BYTES = 64 * 1_024 * 1_024;
/** Includes the wait for a free parser. */
const TIMEOUT_MS = 10_000;
/** Concurrent parsers per process. A hostile file can briefly make each use up to about 100 MiB of memory. */
const PARSERS = 2;

const UNKNOWN = { duration: null, width: null, height: null } as const;

export interface FileDetailsDeps {
  objects: Pick<ObjectStore, 'open'>;
  logger: Pick<Logger, 'debug'>;
  timeoutMs?: number;
}

/** Only the file's beginning was read. */
export type SniffedUpload = Omit<UploadRow, 'duration' | 'width' | 'height'>;

/**
 * Reads details that need more than the file's beginning: audio and video tracks and their duration in whole seconds,
 * picture sizes, and the document type in a container. Unreadable files keep their type, with null as duration and
 * size.
 */
export type FileDetails = (upload: SniffedUpload) => Promise<UploadRow>;

// RES-060
export function createFileDetails({ objects, logger, timeoutMs = TIMEOUT_MS }: FileDetailsDeps): FileDetails {
  async function read(upload: SniffedUpload, signal: AbortSignal): Promise<UploadRow> {
    signal.throwIfAborted();
    const open = (maxOperations: number) =>
      new ObjectTokenizer({
        objects,
        key: upload.id,
        fileInfo: { size: upload.size, mimeType: upload.mime_type },
        maxBytes: MAX_BYTES,
        maxOperations,
        signal,
      });
    if (isPicture(upload.mime_type)) return { ...upload, ...UNKNOWN, ...(await readPictureSize(open(2), upload.size)) };
    if (isContainer(upload.mime_type)) {
      const mimeType = await readOfficeType(open, upload);
      return { ...upload, ...UNKNOWN, mime_type: mimeType, type: attachmentType(mimeType) };
    }
    const { mimeType, seconds } = await readMedia(open, upload.mime_type);
    return { ...upload, ...UNKNOWN, mime_type: mimeType, type: attachmentType(mimeType), duration: seconds };
  }

  const queue = createTaskQueue({ concurrent: PARSERS });

  return async (upload) => {
    const hasDetails = [isMedia, isContainer, isPicture].some((is) => is(upload.mime_type));
    if (!hasDetails) return { ...upload, ...UNKNOWN };
    const done = new AbortController();
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), done.signal]);
    try {
      // If the store does not answer, no read notices the timeout.
      return await unlessAborted(
        queue.run(() => read(upload, signal), { signal }),
        signal,
      );
    } catch (error) {
      logger.debug({ err: error, upload: upload.id }, 'the details of a file cannot be read');
      return { ...upload, ...UNKNOWN };
    } finally {
      done.abort();
    }
  };
}
