import type { IncomingMessage } from 'node:http';

const LIMIT_BYTES = 16 * 1024;

/** The body as text; `undefined` when it is longer than 16 KiB. */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    // Read on, so that the answer still reaches a client that is busy sending.
    if (length <= LIMIT_BYTES) chunks.push(chunk);
  }
  return length <= LIMIT_BYTES ? Buffer.concat(chunks).toString('utf8') : undefined;
}
