import { FILE_TYPES, fileName, FileNotWritten, type FileRequest, type WrittenFile } from './file-types.js';

const MAX_BYTES = 10 * 1024 * 1024;

export type DocumentRequest = FileRequest & { type: 'docx' | 'xlsx' | 'pdf' };

/** Depends on the request alone: the same request gives the same bytes. @throws FileNotWritten */
export async function writeDocument({ type, name, content }: DocumentRequest): Promise<WrittenFile> {
  const { bytes, notes } = await documentOf(type, name, content);
  if (bytes.length > MAX_BYTES)
    throw new FileNotWritten(
      'limit',
      `The file would have more than ${MAX_BYTES / 1024 ** 2} MiB. Write several files.`,
    );
  return { bytes, type: FILE_TYPES[type].mediaType, name: fileName(name, type), notes };
}

/** Imports one type's libraries, because loading them takes longer than most files. */
async function documentOf(type: DocumentRequest['type'], name: string, content: string) {
  switch (type) {
    case 'docx': {
      const { writeDocx } = await import('./docx.js');
      return { bytes: await writeDocx(name, content), notes: [] };
    }
    case 'xlsx': {
      const [{ sheetsOf }, { writeXlsx }] = await Promise.all([import('./sheets.js'), import('./xlsx.js')]);
      const { sheets, leftOut } = sheetsOf(content);
      const notes = leftOut ? ['Only the tables are in the file, not the text beside them.'] : [];
      return { bytes: await writeXlsx(sheets), notes };
    }
    case 'pdf': {
      const { writePdf } = await import('./pdf.js');
      return writePdf(name, content);
    }
  }
}
