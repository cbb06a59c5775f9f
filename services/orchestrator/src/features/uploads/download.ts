import type { Readable } from 'node:stream';
import { ApiError, type ErrorCode } from '@uswarm/contract';
import { FileAnswer } from '../../http/file-answer.js';
import { requestedRange } from './byte-range.js';
import { savedAs } from './file-names.js';
import { type ByteRange, ObjectMissing, type ObjectStore } from './object-store.js';

export interface DownloadRequest {
  id: string;
  signature: string;
  /** The headers of these names. */
  range: string | undefined;
  ifRange: string | undefined;
}

/** A file, or a part of it, that is ready to be sent. */
export interface OpenedFile {
  etag: string;
  size: number;
  /** Undefined: the whole file. */
  range: ByteRange | undefined;
  /** @throws ApiError `notFound` of the opener, `service_unavailable` */
  open: () => Promise<Readable>;
}

/** Opens the part of an object that the `Range` header requests. Objects are immutable, so the key is the ETag. */
export function createFileOpener(objects: Pick<ObjectStore, 'open'>, notFound: ErrorCode) {
  async function open(key: string, range: ByteRange | undefined): Promise<Readable> {
    try {
      return await objects.open(key, range);
    } catch (error) {
      if (error instanceof ObjectMissing) throw new ApiError(notFound, { cause: error });
      throw new ApiError('service_unavailable', { cause: error });
    }
  }

  /** @throws ApiError `range_not_satisfiable` */
  return (key: string, size: number, { range: wanted, ifRange }: DownloadRequest): OpenedFile => {
    const etag = `"${key}"`;
    const same = ifRange === undefined || ifRange === etag;
    const range = requestedRange(same ? wanted : undefined, size);
    if (range === 'unsatisfiable') throw new ApiError('range_not_satisfiable', { extra: { size } });
    const part = range === 'whole' ? undefined : range;
    return { etag, size, range: part, open: () => open(key, part) };
  };
}

/** Responds with a file as an attachment, so that a browser does not run it with the origin of this host. */
export function savedFile({ etag, size, range, open }: OpenedFile, name: string, mediaType: string): FileAnswer {
  const length = range === undefined ? size : range.end - range.start + 1;
  return new FileAnswer({
    status: range === undefined ? 200 : 206,
    headers: {
      'Content-Type': mediaType,
      'Content-Disposition': savedAs(name),
      'Content-Length': String(length),
      'Accept-Ranges': 'bytes',
      ETag: etag,
      ...(range === undefined ? {} : { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
    },
    open,
  });
}
