import { pipeline, type Readable, Transform } from 'node:stream';
import { ApiError, type ErrorCode } from '@uswarm/contract';
import { isCurrent } from '@uswarm/service-kit';
import { NotModified } from '../../platform/http/conditional.js';
import { FileAnswer } from '../../platform/http/file-answer.js';
import { requestedRange } from './byte-range.js';
import { savedAs } from './file-names.js';
import { type ByteRange, ObjectMissing, type ObjectStore } from '../../records/object-store.js';
import type { TransferSlots } from './transfer-slots.js';

export interface DownloadRequest {
  id: string;
  signature: string;
  method: string;
  range: string | undefined;
  ifRange: string | undefined;
  ifNoneMatch: string | undefined;
}

interface ConditionHeaders {
  range?: string | undefined;
  'if-range'?: string | undefined;
  'if-none-match'?: string | undefined;
}

export const conditionsOf = (
  headers: ConditionHeaders,
): Pick<DownloadRequest, 'range' | 'ifRange' | 'ifNoneMatch'> => ({
  range: headers.range,
  ifRange: headers['if-range'],
  ifNoneMatch: headers['if-none-match'],
});

export interface LinkedFile {
  key: string;
  size: number;
  /** The link expires after this many seconds. */
  secondsLeft: number;
}

export interface OpenedFile {
  etag: string;
  size: number;
  secondsLeft: number;
  /** The client already has the file, so no bytes are sent. */
  isKnown: boolean;
  /** Undefined: the whole file. */
  range: ByteRange | undefined;
  /** @throws ApiError the opener's `notFound`, `service_unavailable`, `rate_limited` */
  open: () => Promise<Readable>;
}

/** Download managers use up to 16 connections for a file. A link names no user. */
export const DOWNLOADS_PER_FILE = 16;

/**
 * Opens the part that the `Range` header requests. Objects are immutable, so the key is the ETag.
 *
 * @param slots with the file as the owner. A client that reads slowly keeps a connection to the store, and downloads
 * must
 *   leave some connections for uploads and turns
 */
export function createFileOpener(objects: Pick<ObjectStore, 'open'>, notFound: ErrorCode, slots: TransferSlots) {
  async function open(key: string, range: ByteRange | undefined): Promise<Readable> {
    let sent = 0;
    const counted = new Transform({
      transform(chunk: Buffer, _encoding, done) {
        sent += chunk.length;
        done(null, chunk);
      },
    });
    const release = slots.take(key, { received: () => sent, abort: () => counted.destroy() });
    counted.once('close', release);
    try {
      pipeline(await objects.open(key, range), counted, () => undefined);
      return counted;
    } catch (error) {
      release();
      if (error instanceof ObjectMissing) throw new ApiError(notFound, { cause: error });
      throw new ApiError('service_unavailable', { cause: error });
    }
  }

  /** @throws ApiError `range_not_satisfiable` */
  return ({ key, size, secondsLeft }: LinkedFile, request: DownloadRequest): OpenedFile => {
    const etag = `"${key}"`;
    const file = { etag, size, secondsLeft };
    // RFC 9110 §13.2.2: this condition comes before ranges, which only GET has.
    const isKnown = isCurrent(etag, request.ifNoneMatch);
    const same = request.ifRange === undefined || request.ifRange === etag;
    const wanted = request.method === 'GET' && same && !isKnown ? request.range : undefined;
    const range = requestedRange(wanted, size);
    if (range === 'unsatisfiable') throw new ApiError('range_not_satisfiable', { extra: { size } });
    const part = range === 'whole' ? undefined : range;
    return { ...file, isKnown, range: part, open: () => open(key, part) };
  };
}

/** Serves the file as an attachment, so that a browser does not run it with this host's origin. */
export function savedFile(file: OpenedFile, name: string, mediaType: string): FileAnswer | NotModified {
  const { etag, size, secondsLeft, isKnown, range, open } = file;
  const caching = { ETag: etag, 'Cache-Control': `private, max-age=${secondsLeft}, immutable` };
  if (isKnown) return new NotModified(caching);
  const length = range === undefined ? size : range.end - range.start + 1;
  return new FileAnswer({
    status: range === undefined ? 200 : 206,
    headers: {
      'Content-Type': mediaType,
      'Content-Disposition': savedAs(name),
      'Content-Length': String(length),
      'Accept-Ranges': 'bytes',
      ...caching,
      ...(range === undefined ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
    },
    open,
  });
}
