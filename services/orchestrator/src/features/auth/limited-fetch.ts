/** Longer than any discovery document or key set; what an issuer sends is not trusted before it is checked. */
const LONGEST_ANSWER = 256 * 1024;

/** `fetch` without redirects, whose answer is read as a whole. @throws Error if it is longer than 256 KiB */
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
    if (length > LONGEST_ANSWER) throw new Error('the answer is longer than 256 KiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
