import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';

export class FileAnswer {
  readonly status: 200 | 206;
  readonly headers: Record<string, string>;
  /** Rejects if the file cannot be opened; the client then gets the error. */
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
    // The connection is already closed, so that the client does not take a part for the whole file.
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  }
}
