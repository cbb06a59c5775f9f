import { createHash } from 'node:crypto';
import { isCurrent } from '@uswarm/service-kit';
import type { Request, Response } from 'express';
import { NotModified, sendNotModified } from './conditional.js';

const JSON_HEADERS = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-cache' };

/** A document that is the same for all clients: built once, and revalidated by its ETag. */
export class DocumentAnswer {
  readonly bytes: Buffer;
  /** Weak, because the document may be sent with several content encodings. */
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;

  /** @param document an object is sent as JSON; a string or bytes are sent unchanged, and `headers` name their type */
  constructor(document: object | string | Buffer, headers: Readonly<Record<string, string>> = JSON_HEADERS) {
    const isSentUnchanged = typeof document === 'string' || Buffer.isBuffer(document);
    this.bytes = Buffer.from(isSentUnchanged ? document : JSON.stringify(document));
    this.etag = `W/"${createHash('sha256').update(this.bytes).digest('base64url')}"`;
    this.headers = headers;
  }
}

/** Sends the document, or 304 without a body if the client already has it. */
export function sendDocument({ bytes, etag, headers }: DocumentAnswer, request: Request, response: Response): void {
  const all = { ...headers, ETag: etag };
  if (isCurrent(etag, request.headers['if-none-match'])) sendNotModified(new NotModified(all), response);
  else response.set(all).status(200).send(bytes);
}
