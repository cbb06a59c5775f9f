import type { Outgoing } from '@uswarm/service-kit/outgoing';

/** Larger than any discovery document or key set. Limits the memory that an untrusted response can use. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** @throws Error if the answer is a redirect, which is not followed, or longer than 256 KiB */
export type LimitedFetch = (url: string | URL, options: { signal: AbortSignal }) => Promise<Response>;

export const createLimitedFetch =
  ({ request }: Pick<Outgoing, 'request'>): LimitedFetch =>
  async (url, { signal }) => {
    const { statusCode, body } = await request(url, { headers: { accept: 'application/json' }, signal });
    if (statusCode >= 300 && statusCode < 400) {
      await body.dump();
      throw new Error(`the answer is a redirect (status ${statusCode})`);
    }
    const text = await readLimited(body);
    return new Response(statusCode === 204 ? null : text, { status: statusCode });
  };

async function readLimited(body: AsyncIterable<Uint8Array>): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) throw new Error('the answer is longer than 256 KiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
