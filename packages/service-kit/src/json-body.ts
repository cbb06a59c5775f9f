import { isUtf8 } from 'node:buffer';
import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * The `verify` option of express' JSON parser: it would replace bytes that are not UTF-8, so that a text differs from
 * what was sent. The error is the one for malformed JSON.
 */
export function requireUtf8(_request: IncomingMessage, _response: ServerResponse, body: Buffer, charset: string): void {
  if (charset !== 'utf-8' || isUtf8(body)) return;
  throw Object.assign(new Error('the body is not UTF-8'), { type: 'entity.parse.failed', status: 400 });
}
