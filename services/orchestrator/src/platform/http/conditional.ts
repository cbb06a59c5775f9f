import type { Response } from 'express';

/** A response without a body: the client's copy is up to date. */
export class NotModified {
  /** The full response's headers, which update the copy. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(headers: Readonly<Record<string, string>>) {
    this.headers = headers;
  }
}

export function sendNotModified({ headers }: NotModified, response: Response): void {
  response.status(304).set(headers).end();
}
