import { writeCsv } from './csv.js';
import { FILE_TYPES, fileName, type FileRequest, type WrittenFile } from './file-types.js';
import { writeHtml } from './html.js';

type TextType = 'text' | 'csv' | 'markdown' | 'html';
export type TextRequest = FileRequest & { type: TextType };

export const isText = (request: FileRequest): request is TextRequest =>
  ['text', 'csv', 'markdown', 'html'].includes(request.type);

/** Takes milliseconds. */
export function writeText({ type, name, content }: TextRequest): WrittenFile {
  const bytes = Buffer.from(textOf(type, content));
  return { bytes, type: FILE_TYPES[type].mediaType, name: fileName(name, type), notes: [] };
}

function textOf(type: TextType, content: string): string {
  if (type === 'html') return writeHtml(content);
  if (type !== 'csv') return content;
  const csv = writeCsv(content);
  // Excel takes a file without this mark for one in an old encoding.
  return /[^\0-\x7F]/.test(csv) ? `\uFEFF${csv}` : csv;
}
