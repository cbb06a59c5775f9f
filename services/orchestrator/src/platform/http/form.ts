import type { IncomingMessage } from 'node:http';
import { type Readable, Transform } from 'node:stream';
import { MIMEType } from 'node:util';
import { Dicer } from '@fastify/busboy';
import { ApiError } from '@uswarm/contract';
import { sentDisposition } from './sent-file-name.js';

export interface FormFile {
  name: string | undefined;
  /** Fails if the file is too large or the request ends early. The consumer must read or destroy it. */
  content: Readable;
  /** Settles at the end of the form, after the file has ended. Rejects if the form is malformed or incomplete. */
  complete: Promise<void>;
  received(): number;
  abort(error: ApiError): void;
}

export interface FormLimits {
  maxBytes: number;
  /** The upload is aborted after this many ms without data from the client. */
  stallMs: number;
  /** Minimum bytes in `RATE_WINDOW_MS`. */
  minBytes: number;
}

/** An upload must make the minimum progress in this time, which is long enough for gaps in mobile networks. */
export const RATE_WINDOW_MS = 20_000;
/** The window moves in steps, so that a fast beginning does not cover for a slow rest. */
const RATE_STEPS = 4;

/** A multipart/form-data body that is not yet read. */
export interface IncomingForm {
  /**
   * Streams the part named `file` to `take`. Other parts are discarded.
   *
   * @throws ApiError `unsupported_media_type`, `malformed_form`, `upload_file_missing`, `upload_too_large`,
   *   `upload_stalled`, and errors that `take` throws
   */
  receiveFile<T>(limits: FormLimits, take: (file: FormFile) => Promise<T>): Promise<T>;
}

const FILE = 'file';
/** Allowance for boundaries, headers and other fields. */
const OVERHEAD_BYTES = 64 * 1024;
/** A rejected body is discarded up to this multiple of the maximum size and these bytes; then the connection is closed. */
const DISCARDED_TIMES = 4;
const DISCARDED_BYTES = 128 * 1024 ** 2;
const MAX_PARTS = 20;
/** The parser accepts no longer ones; RFC 2046 allows 70. */
const MAX_BOUNDARY_BYTES = 250;
const HEADER_LIMITS = { maxHeaderPairs: 20, maxHeaderSize: 8 * 1024 };

export function incomingForm(request: IncomingMessage): IncomingForm {
  return {
    async receiveFile({ maxBytes, ...progress }, take) {
      const bodyBytes = maxBytes + OVERHEAD_BYTES;
      try {
        const form = createParser(request);
        if (Number(request.headers['content-length'] ?? 0) > bodyBytes) throw tooLarge();
        return await parse(request, form, { maxBytes, bodyBytes, ...progress }, take);
      } catch (error) {
        discard(request, Math.min(DISCARDED_TIMES * bodyBytes, DISCARDED_BYTES));
        throw error;
      }
    },
  };
}

const tooLarge = (): ApiError => new ApiError('upload_too_large');
const malformed = (cause?: unknown): ApiError => new ApiError('malformed_form', { cause });

/**
 * This lower-level parser returns each part's headers. A file name can occur twice in them, and the form parser would
 * return the copy for old readers.
 */
function createParser({ headers }: IncomingMessage): Dicer {
  const type = headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*(;|$)/i.test(type) || headers['content-encoding'] !== undefined) {
    throw new ApiError('unsupported_media_type', { message: 'The body must be multipart/form-data, not compressed.' });
  }
  const boundary = boundaryOf(type);
  if (boundary === null || boundary === '' || Buffer.byteLength(boundary) > MAX_BOUNDARY_BYTES) throw malformed();
  return new Dicer({ boundary, ...HEADER_LIMITS });
}

function boundaryOf(type: string): string | null {
  try {
    return new MIMEType(type).params.get('boundary');
  } catch (error) {
    throw malformed(error);
  }
}

interface BodyLimits extends FormLimits {
  bodyBytes: number;
}

async function parse<T>(
  request: IncomingMessage,
  form: Dicer,
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
  const takeFile = (part: Readable, name: string | undefined): void => {
    if (taken !== undefined) return fail(malformed());
    content = part.pipe(limited(limits.maxBytes, fail));
    // An error without a listener would end the process.
    content.on('error', () => undefined);
    taken = take({ name, content, complete: complete.promise, received: watched.received, abort: fail });
    void taken.catch(fail);
  };
  let parts = 0;
  form.on('part', (part) => {
    part.on('error', () => undefined);
    parts += 1;
    if (parts > MAX_PARTS) fail(malformed());
    part.on('header', (headers: Record<string, string[] | undefined>) => {
      const sent = sentDisposition(headers['content-disposition']?.[0] ?? '');
      if (sent?.field === FILE) takeFile(part, sent.fileName);
      else part.resume();
    });
  });
  form.once('finish', complete.resolve);
  form.on('error', (error) => fail(malformed(error)));
  const watched = watch(request, form, limits, fail);
  request.pipe(form);
  await complete.promise.catch(() => undefined);
  watched.end();
  request.unpipe(form);
  // `take` must end before the response is sent.
  const result = await taken?.catch(() => undefined);
  if (failure !== undefined) throw failure;
  if (taken === undefined) throw new ApiError('upload_file_missing');
  return result as T;
}

function limited(maxBytes: number, fail: (error: ApiError) => void): Transform {
  let seen = 0;
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      seen += chunk.length;
      if (seen > maxBytes) fail(tooLarge());
      else done(null, chunk);
    },
  });
}

interface Watched {
  received(): number;
  end(): void;
}

/** Fails a request that is aborted, stalls, is too slow, or exceeds the size limit. */
function watch(
  request: IncomingMessage,
  form: Dicer,
  { bodyBytes, stallMs, minBytes }: BodyLimits,
  fail: (error: ApiError) => void,
): Watched {
  let seen = 0;
  const stalled = setTimeout(() => {
    // The store is slow, not the client.
    if (form.writableNeedDrain) stalled.refresh();
    else fail(new ApiError('upload_stalled'));
  }, stallMs);
  /** `seen` at the last steps, the oldest first. */
  let steps = [0];
  const slow = setInterval(() => {
    if (form.writableNeedDrain) steps = [];
    else if (steps.length === RATE_STEPS && seen - (steps.shift() ?? 0) < minBytes)
      fail(new ApiError('upload_stalled'));
    steps.push(seen);
  }, RATE_WINDOW_MS / RATE_STEPS);
  request.on('data', (chunk: Buffer) => {
    stalled.refresh();
    seen += chunk.length;
    if (seen > bodyBytes) fail(tooLarge());
  });
  request.on('error', () => undefined);
  request.once('close', () => {
    if (!request.complete) fail(malformed());
  });
  return {
    received: () => seen,
    end() {
      clearTimeout(stalled);
      clearInterval(slow);
    },
  };
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
