/** Larger than any discovery document or key set. Limits the memory that an untrusted response can use. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** `fetch` without redirects that reads the whole body. @throws Error if the body is longer than 256 KiB */
export async function limitedFetch(url: string | URL, options: RequestInit = {}): Promise<Response> {
  const response = await fetch(url, { ...options, redirect: 'error' });
  const { status, headers } = response;
  return new Response(await readLimited(response), { status, headers });
}

async function readLimited({ body }: Response): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    length += chunk.length;
    if (length > MAX_RESPONSE_BYTES) throw new Error('the answer is longer than 256 KiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
