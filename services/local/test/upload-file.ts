import type { Attachment } from '@uswarm/contract';

/** Uploads a file as an app does. */
export async function uploadFile(
  { restUrl, token }: { restUrl: string; token: string },
  name: string,
  content: string | Uint8Array,
): Promise<Attachment> {
  const form = new FormData();
  form.append('file', new Blob([typeof content === 'string' ? content : new Uint8Array(content)]), name);
  const headers = { 'x-token': token };
  const answer = await fetch(`${restUrl}/v1/uploads`, { method: 'POST', headers, body: form });
  return ((await answer.json()) as { data: Attachment }).data;
}
