import { once } from 'node:events';
import type { Logger } from '@uswarm/service-kit';
import { attachmentType, isContainer, isMedia } from './file-kind.js';
import { readMedia } from './media.js';
import { readOfficeType } from './office-files.js';
import type { ObjectStore } from './object-store.js';
import { ObjectTokenizer } from './object-tokenizer.js';
import type { UploadRow } from './uploads.store.js';

/** Without a header that states the duration, the whole file is read. */
const MAX_BYTES = 64 * 1_024 * 1_024;
/** Includes the time until one of the parsers is free. */
const TIMEOUT_MS = 10_000;
/** Concurrent parsers per process. A hostile file can briefly make each use up to about 100 MiB of memory. */
const PARSERS = 2;

export interface FileDetailsDeps {
  objects: Pick<ObjectStore, 'open'>;
  logger: Pick<Logger, 'debug'>;
  timeoutMs?: number;
}

/** A stored file of which only the beginning was read. */
export type SniffedUpload = Omit<UploadRow, 'duration'>;

/**
 * Reads what the beginning of a file does not tell: the tracks of audio and video and their duration in whole seconds, and which
 * document a container is. Without it, for example for files that cannot be read, the type stays and the duration is null.
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
    if (isContainer(upload.mime_type)) {
      const mimeType = await readOfficeType(open, upload);
      return { ...upload, mime_type: mimeType, type: attachmentType(mimeType), duration: null };
    }
    const { mimeType, seconds } = await readMedia(open, upload.mime_type);
    return { ...upload, mime_type: mimeType, type: attachmentType(mimeType), duration: seconds };
  }

  const inTurn = createSlots(PARSERS);

  return async (upload) => {
    if (!isMedia(upload.mime_type) && !isContainer(upload.mime_type)) return { ...upload, duration: null };
    const [timeout, done] = [AbortSignal.timeout(timeoutMs), new AbortController()];
    // The store may not answer: then no read notices the end of the time.
    const late = once(timeout, 'abort', { signal: done.signal }).then(() => {
      throw new Error('reading the file took too long');
    });
    try {
      const signal = AbortSignal.any([timeout, done.signal]);
      return await Promise.race([inTurn(() => read(upload, signal)), late]);
    } catch (error) {
      logger.debug({ err: error, upload: upload.id }, 'the details of a file cannot be read');
      return { ...upload, duration: null };
    } finally {
      done.abort();
    }
  };
}

/** Runs at most `count` tasks concurrently, the others in their order. */
function createSlots(count: number) {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async <T>(task: () => Promise<T>): Promise<T> => {
    if (running >= count) await new Promise<void>((resolve) => waiting.push(resolve));
    else running += 1;
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running -= 1;
      else next();
    }
  };
}
