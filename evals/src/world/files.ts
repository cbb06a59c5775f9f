import { createFileWriter } from '@uswarm/file-writer';
import type { WorldFile } from '../tasks/task.js';
import { textOf } from './text-of.js';

const writer = createFileWriter();
const PAGE_BREAK = '\n\n<!-- pagebreak -->\n\n';

/** An attached file's bytes. In a PDF or Word document, each part is a page. */
export async function bytesOf({ name, as, base64, ...text }: WorldFile): Promise<Uint8Array<ArrayBuffer>> {
  if (base64 !== undefined) return Uint8Array.from(Buffer.from(base64, 'base64'));
  if (as === undefined) return new TextEncoder().encode(textOf(text));
  const content = textOf(text, as === 'xlsx' ? '\n' : PAGE_BREAK);
  const { bytes } = await writer.write({ type: as, name, content });
  return Uint8Array.from(bytes);
}
