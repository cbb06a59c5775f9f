import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { MAX_MODEL_REQUEST_BYTES } from '@uswarm/service-kit';
import { GatewayError } from './gateway-error.js';

const tooLarge = () => new GatewayError('body_too_large', `The request exceeds ${MAX_MODEL_REQUEST_BYTES} bytes.`);

/** Maximum body bytes, by the request headers. @throws GatewayError `body_too_large` */
export function declaredBytes({ headers }: IncomingMessage): number {
  const declared = headers['content-length'];
  if (declared === undefined) return MAX_MODEL_REQUEST_BYTES;
  if (Number(declared) > MAX_MODEL_REQUEST_BYTES) throw tooLarge();
  return Number(declared);
}

/** Reads a request body as text. @throws GatewayError `body_too_large`, `invalid_request` */
export async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // A destroyed request's connection could not carry the error response.
  for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > MAX_MODEL_REQUEST_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  const body = Buffer.concat(chunks);
  if (!isUtf8(body)) throw new GatewayError('invalid_request', 'The body is not UTF-8.');
  return body.toString('utf8');
}
