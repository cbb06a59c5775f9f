import { createHash } from 'node:crypto';
import type { Response } from 'express';

const JSON_HEADERS = { 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-cache' };

/** A document that is the same for everyone: made once, and revalidated by its ETag. */
export class DocumentAnswer {
  readonly bytes: Buffer;
  /** Weak: the same document may be sent with several content encodings. */
  readonly etag: string;
  readonly headers: Readonly<Record<string, string>>;

  /** A text is sent as it is, with headers that name its type; an object is sent as JSON. */
  constructor(document: object | string, headers: Readonly<Record<string, string>> = JSON_HEADERS) {
    this.bytes = Buffer.from(typeof document === 'string' ? document : JSON.stringify(document));
    this.etag = `W/"${createHash('sha256').update(this.bytes).digest('base64url')}"`;
    this.headers = headers;
  }
}

/** Answers 304 without a body when the client has the document already. */
export function sendDocument({ bytes, etag, headers }: DocumentAnswer, response: Response): void {
  response.set({ ...headers, ETag: etag });
  response.status(200).send(bytes);
}
