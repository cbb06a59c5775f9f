import { once } from 'node:events';
import type { Logger } from '@uswarm/service-kit';
import type { ObjectStore } from './object-store.js';
import { ObjectTokenizer } from './object-tokenizer.js';
import type { UploadRow } from './uploads.store.js';

/** Without a header that states the duration, the whole file is read. */
const MAX_BYTES = 64 * 1_024 * 1_024;
/** Includes the time until one of the parsers is free. */
const TIMEOUT_MS = 10_000;
/** Concurrent parsers of this process. A hostile file can make each use up to about 100 MiB of memory for a moment. */
const PARSERS = 2;
/** Streams of frames without an index are read frame by frame, and the parser keeps nothing of a frame. */
const FRAMED = new Set(['audio/mpeg', 'audio/aac']);
const MAX_SECONDS = 2 ** 31 - 1;

export interface MediaDurationDeps {
  objects: Pick<ObjectStore, 'open'>;
  logger: Pick<Logger, 'debug'>;
  timeoutMs?: number;
}

/** A stored file of which only the duration is unknown. */
export type MeasuredUpload = Omit<UploadRow, 'duration'>;

/** The duration of audio and video in whole seconds; null for other files and for files that cannot be read. */
export type MediaDuration = (upload: MeasuredUpload) => Promise<number | null>;

const isDuration = (seconds: number | undefined): seconds is number =>
  seconds !== undefined && seconds >= 0 && seconds <= MAX_SECONDS;

// RES-060
export function createMediaDuration({ objects, logger, timeoutMs = TIMEOUT_MS }: MediaDurationDeps): MediaDuration {
  async function read({ id, size, mime_type: mimeType }: MeasuredUpload, signal: AbortSignal): Promise<number | null> {
    signal.throwIfAborted();
    const tokenizer = new ObjectTokenizer({
      objects,
      key: id,
      fileInfo: { size, mimeType },
      maxBytes: MAX_BYTES,
      maxOperations: FRAMED.has(mimeType) ? 2_000_000 : 100_000,
      signal,
    });
    // Needs memory, so it is loaded for the first such file.
    const { parseFromTokenizer, TrackType } = await import('music-metadata');
    const { format } = await parseFromTokenizer(tokenizer, { duration: true, skipCovers: true, mkvUseIndex: true });
    const tracks = format.trackInfo.filter(({ type }) => type === TrackType.audio || type === TrackType.video);
    const seconds = [format, ...tracks].flatMap(({ duration }) => (isDuration(duration) ? [Math.round(duration)] : []));
    return seconds.length === 0 ? null : Math.max(...seconds);
  }

  const inTurn = createSlots(PARSERS);

  return async (upload) => {
    if (upload.type !== 'audio' && upload.type !== 'video') return null;
    const [timeout, done] = [AbortSignal.timeout(timeoutMs), new AbortController()];
    // The store may not answer: then no read notices the end of the time.
    const late = once(timeout, 'abort', { signal: done.signal }).then(() => {
      throw new Error('reading the duration took too long');
    });
    try {
      const signal = AbortSignal.any([timeout, done.signal]);
      return await Promise.race([inTurn(() => read(upload, signal)), late]);
    } catch (error) {
      logger.debug({ err: error, upload: upload.id }, 'the duration of a file cannot be read');
      return null;
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
