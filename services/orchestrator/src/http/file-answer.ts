import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';

/** A handler's answer that is no JSON: bytes, which are not read before they are sent. */
export class FileAnswer {
  readonly status: 200 | 206;
  readonly headers: Record<string, string>;
  /** Rejects where the bytes cannot be had; the client then gets an error. */
  readonly open: () => Promise<Readable>;

  constructor({ status, headers, open }: Pick<FileAnswer, 'status' | 'headers' | 'open'>) {
    this.status = status;
    this.headers = headers;
    this.open = open;
  }
}

export async function sendFile(answer: FileAnswer, request: Request, response: Response): Promise<void> {
  if (request.method === 'HEAD') {
    response.status(answer.status).set(answer.headers).end();
    return;
  }
  const bytes = await answer.open();
  response.status(answer.status).set(answer.headers);
  try {
    await pipeline(bytes, response);
  } catch (error) {
    // Whoever failed, the connection is closed by now, so that nobody takes the part for the whole.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
