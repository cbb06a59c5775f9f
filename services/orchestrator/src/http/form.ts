import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Busboy, type BusboyInstance } from '@fastify/busboy';
import { ApiError } from '@uswarm/contract';

/** A file of a form while it comes in. */
export interface FormFile {
  /** As the client wrote it, if it did. */
  name: string | undefined;
  /** Fails where the file is too large or the request ends too early; has to be read or destroyed. */
  content: Readable;
  /** Settles with the whole form, which ends after the file. Rejects where it is malformed or breaks off. */
  complete: Promise<void>;
}

export interface FormLimits {
  /** Bytes of the file. */
  maxBytes: number;
  /** Milliseconds without a byte from the client after which the upload ends. */
  stallMs: number;
}

/** A multipart/form-data body that nobody has read yet. */
export interface IncomingForm {
  /**
   * Hands the part named `file` to `take`, which gets it as it arrives. Other parts are read and forgotten.
   * @throws ApiError `unsupported_media_type`, `malformed_form`, `upload_file_missing`, `upload_too_large`,
   *   `upload_stalled`, and what `take` throws
   */
  receiveFile<T>(limits: FormLimits, take: (file: FormFile) => Promise<T>): Promise<T>;
}

const FILE = 'file';
/** Boundaries, headers and other fields, besides the file. */
const OVERHEAD_BYTES = 64 * 1024;
/** Of a body that is refused, how often the allowed size is read past before the connection is cut. */
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
    // A stream that fails while nobody listens ends the process.
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
  // What the taker began has to be at its end before anybody is answered.
  const result = await taken?.catch(() => undefined);
  if (failure !== undefined) throw failure;
  if (taken === undefined) throw new ApiError('upload_file_missing');
  return result as T;
}

/** A request that breaks off, stands still, or goes on for ever. @returns ends the watch for progress */
function watch(
  request: IncomingMessage,
  form: BusboyInstance,
  { bodyBytes, stallMs }: BodyLimits,
  fail: (error: ApiError) => void,
): () => void {
  let seen = 0;
  const stalled = setTimeout(() => {
    // It is us who do not read: the store is slow.
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
 * Reads on, so that a client which is still sending gets to see its answer, and may use the connection
 * again; one that goes on and on is cut off.
 */
function discard(request: IncomingMessage, maxBytes: number): void {
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > maxBytes) request.destroy();
  });
  request.resume();
}
