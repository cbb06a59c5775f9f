import type { IncomingMessage } from 'node:http';

const LIMIT_BYTES = 16 * 1024;

/** @returns the body as text, or `undefined` if it is longer than 16 KiB */
export async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.byteLength;
    // Reads the rest, so that a client that is still sending receives the response.
    if (length <= LIMIT_BYTES) chunks.push(chunk);
  }
  return length <= LIMIT_BYTES ? Buffer.concat(chunks).toString('utf8') : undefined;
}
