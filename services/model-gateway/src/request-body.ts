import type { IncomingMessage } from 'node:http';
import { GatewayError } from './gateway-error.js';

/** Bytes of a request. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;

/** Reads the body of a request as text. @throws GatewayError `body_too_large` */
export async function readBody(request: IncomingMessage, maxBytes = MAX_BODY_BYTES): Promise<string> {
  const tooLarge = () => new GatewayError('body_too_large', `The request exceeds ${maxBytes} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let size = 0;
  // The connection of a destroyed request could not carry the error response.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
