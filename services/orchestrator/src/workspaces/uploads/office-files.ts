import { readCompoundType } from './compound-files.js';
import type { OpenTokenizer } from './media.js';
import type { UploadRow } from './uploads.store.js';
import { readZipType } from './zip-files.js';

const OPERATIONS = 100_000;

/** @returns the container type if no document is recognized */
export async function readOfficeType(
  open: OpenTokenizer,
  upload: Pick<UploadRow, 'name' | 'mime_type'>,
): Promise<string> {
  const tokenizer = open(OPERATIONS);
  const isCompound = upload.mime_type === 'application/x-cfb';
  return (await (isCompound ? readCompoundType(tokenizer, upload.name) : readZipType(tokenizer))) ?? upload.mime_type;
}
