import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ApiError } from '@uswarm/contract';

/** A file of a form that is being received. */
export interface FormFile {
  /** The file name from the client, if any. */
  name: string | undefined;
  /** Fails if the file is too large or the request ends early. The consumer must read or destroy it. */
  content: Readable;
  /** Settles at the end of the form, after the end of the file. Rejects if the form is malformed or incomplete. */
  complete: Promise<void>;
}

export interface FormLimits {
  /** Maximum bytes of the file. */
  maxBytes: number;
  /** Milliseconds without data from the client after which the upload is aborted. */
  stallMs: number;
}

/** A multipart/form-data body that is not yet read. */
export interface IncomingForm {
  /**
   * Streams the part named `file` to `take`. Other parts are discarded.
   * @throws ApiError `unsupported_media_type`, `malformed_form`, `upload_file_missing`, `upload_too_large`,
   *   `upload_stalled`, and errors of `take`
   */
  receiveFile<T>(limits: FormLimits, take: (file: FormFile) => Promise<T>): Promise<T>;
}

const FILE = 'file';
/** Allowance for boundaries, headers and other fields. */
const OVERHEAD_BYTES = 64 * 1024;
/** A rejected body is discarded up to this multiple of the maximum size; then the connection is closed. */
const DISCARDED_TIMES = 4;
const LIMITS = { parts: 20, fieldSize: 8 * 1024, headerPairs: 20, headerSize: 8 * 1024 };

export function incomingForm(request: IncomingMessage): IncomingForm {
  return {
    async receiveFile({ maxBytes, stallMs }, take) {
      const bodyBytes = maxBytes + OVERHEAD_BYTES;
      try {
        const form = createParser(request, maxBytes);
        if (Number(request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge();
        return await parse(request, form, { bodyBytes, stallMs }, take);
      } catch (error) {
        discard(request, DISCARDED_TIMES * bodyBytes);
        throw error;
      }
    },
  };
}

const tooLarge = (): ApiError => new ApiError('upload_too_large');
const malformed = (cause?: unknown): ApiError => new ApiError('malformed_form', { cause });

function createParser({ headers }: IncomingMessage, maxBytes: number): BusboyInstance {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type) || headers['content-encoding'] !== undefined) {
    throw new ApiError('unsupported_media_type', { message: 'The body must be multipart/form-data, not compressed.' });
  }
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': type },
      limits: { ...LIMITS, fileSize: maxBytes },
      isPartAFile: (name, mediaType, fileName) =>
        name === FILE || fileName !== undefined || mediaType === 'application/octet-stream',
    });
  } catch (error) {
    throw malformed(error);
  }
}

interface BodyLimits {
  bodyBytes: number;
  stallMs: number;
}

async function parse<T>(
  request: IncomingMessage,
  form: BusboyInstance,
  limits: BodyLimits,
  take: (file: FormFile) => Promise<T>,
): Promise<T> {
  const complete = Promise.withResolvers<void>();
  let content: Readable | undefined;
  let taken: Promise<T> | undefined;
  let failure: unknown;
  const fail = (error: unknown): void => {
    failure ??= error;
    content?.destroy(error as Error);
    complete.reject(error);
  };
  form.on('file', (part, stream, name) => {
    // An error without a listener would end the process.
    stream.on('error', () => undefined);
    if (part !== FILE) return void stream.resume();
    if (taken !== undefined) return fail(malformed());
    content = stream;
    stream.once('limit', () => fail(tooLarge()));
    taken = take({ name: name as string | undefined, content: stream, complete: complete.promise });
    return void taken.catch(fail);
  });
  form.once('finish', complete.resolve);
  form.on('error', (error) => fail(malformed(error)));
  const unwatch = watch(request, form, limits, fail);
  request.pipe(form);
  await complete.promise.catch(() => undefined);
  unwatch();
  request.unpipe(form);
  // `take` must end before the response is sent.
  const result = await taken?.catch(() => undefined);
  if (failure !== undefined) throw failure;
  if (taken === undefined) throw new ApiError('upload_file_missing');
  return result as T;
}

/** Fails a request that is aborted, stalls, or exceeds the size limit. @returns a function that ends the stall timer */
function watch(
  request: IncomingMessage,
  form: BusboyInstance,
  { bodyBytes, stallMs }: BodyLimits,
  fail: (error: ApiError) => void,
): () => void {
  let seen = 0;
  const stalled = setTimeout(() => {
    // The store is slow, not the client.
    if (form.writableNeedDrain) stalled.refresh();
    else fail(new ApiError('upload_stalled'));
  }, stallMs);
  request.on('data', (chunk: Buffer) => {
    stalled.refresh();
    seen += chunk.length;
    if (seen > bodyBytes) fail(tooLarge());
  });
  request.on('error', () => undefined);
  request.once('close', () => {
    if (!request.complete) fail(malformed());
  });
  return () => clearTimeout(stalled);
}

/**
 * Discards the rest of the body, so that the client receives the response and can reuse the connection. Closes the
 * connection if the body is too long.
 */
function discard(request: IncomingMessage, maxBytes: number): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) request.destroy();
  });
  request.resume();
}
