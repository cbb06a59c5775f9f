import { createHash } from 'node:crypto';
import type { Response } from 'express';

/** A JSON document that is the same for everyone: serialised once, and revalidated by its ETag. */
export class DocumentAnswer {
  readonly bytes: Buffer;
  /** Weak: the same document may be sent with several content encodings. */
  readonly etag: string;

  constructor(document: object) {
    this.bytes = Buffer.from(JSON.stringify(document));
    this.etag = `W/"${createHash('sha256').update(this.bytes).digest('base64url')}"`;
  }
}

/** Answers 304 without a body when the client has the document already. */
export function sendDocument({ bytes, etag }: DocumentAnswer, response: Response): void {
  response.set({ 'Content-Type': 'application/json; charset=utf-8', 'Cache-Control': 'no-cache', ETag: etag });
  response.status(200).send(bytes);
}
