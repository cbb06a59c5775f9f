import type { FetchLike } from '@uswarm/mcp-client';

/** Bytes of one response. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Ends responses that are too large with an error: a server's answer is read into memory. */
export const limitedFetch =
  (send: FetchLike, maxBytes = MAX_BYTES): FetchLike =>
  async (url, init) => {
    const response = await send(url, init);
    if (response.body === null) return response;
    let bytes = 0;
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > maxBytes) controller.error(new RangeError(`the response has more than ${maxBytes} bytes`));
        else controller.enqueue(chunk);
      },
    });
    const { status, statusText, headers } = response;
    return new Response(response.body.pipeThrough(limit), { status, statusText, headers });
  };
