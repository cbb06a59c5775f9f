import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { responseHeaders } from './headers.js';
import type { SentResponse } from './send-call.js';

export interface RelayOptions {
  /** Called with each part before it is written. */
  onChunk: (chunk: Uint8Array) => void;
  /** Called after the last part. The response ends when it resolves. */
  beforeEnd: () => Promise<void>;
  signal: AbortSignal;
}

/**
 * Passes a response on without changes. Each part is written when it arrives, and the next one is read when the client
 * has taken it.
 *
 * @throws the provider connection's error, or the signal's reason
 */
export async function relay(
  { statusCode, headers, body }: SentResponse,
  response: ServerResponse,
  { onChunk, beforeEnd, signal }: RelayOptions,
): Promise<void> {
  response.writeHead(statusCode, responseHeaders(headers));
  response.flushHeaders();
  for await (const chunk of body as AsyncIterable<Uint8Array>) {
    onChunk(chunk);
    if (!response.write(chunk)) await once(response, 'drain', { signal });
  }
  signal.throwIfAborted();
  await beforeEnd();
  response.end();
}
