import type { FileText } from '../file-reader.js';
import type { Job } from '../protocol.js';
import { decodeText } from './decode.js';
import { detect, zipKind, type Detected } from './detect.js';
import { createOutput, textOf } from './output.js';
import { corrupt, ProblemError } from './problem.js';
import { openZip } from './zip.js';

type Limits = Pick<Job, 'name' | 'type' | 'characters' | 'pages'>;

/** Office files whose XML the archive's names do not show, by extension. */
const OFFICE = /^(?:docx|docm|dotx|xlsx|xlsm|xlsb|pptx|pptm|odt|ods|odp|epub)$/;

/**
 * Reads a file in any format. Readers are loaded when they are needed, since a process reads one file.
 *
 * @throws what `problemOf` understands
 */
export async function readText(bytes: Uint8Array, job: Limits, onLong: () => void): Promise<FileText> {
  const detected = await detect(bytes, job);
  switch (detected.format) {
    case 'pdf':
      return (await import('./pdf.js')).readPdf(bytes, job, onLong);
    case 'zip':
      return readZip(bytes, detected, job);
    case 'compound':
      return readCompound(bytes, detected, job);
    case 'tar':
      return (await import('./archive.js')).listTar(bytes, job.characters);
    case 'gzip':
      return (await import('./archive.js')).listGzip(bytes, { ...job, isTar });
    case 'rtf':
      return (await import('./rich-text.js')).readRichText(bytes, job.characters);
    case 'mail':
      return (await import('./mail.js')).readMail(bytes, job.characters);
    case 'picture':
      throw new ProblemError('unsupported', 'The file is a picture, which has no text.');
    case 'binary':
      throw unsupported(detected);
    default:
      return readPlain(bytes, detected, job);
  }
}

/** Names the file in a problem's sentence. */
export function describe({ format, extension }: Detected): string {
  if (format === 'pdf') return 'PDF';
  if (format === 'picture') return 'picture';
  if (format === 'mail') return 'mail';
  if (/^xls|^ods$/.test(extension)) return 'spreadsheet';
  if (/^ppt|^odp$/.test(extension)) return 'presentation';
  if (/^doc|^odt$/.test(extension)) return 'document';
  return format === 'tar' || format === 'gzip' || format === 'zip' ? 'archive' : 'file';
}

function isTar(bytes: Uint8Array): boolean {
  return Buffer.from(bytes.subarray(257, 262)).toString('latin1') === 'ustar';
}

async function readZip(bytes: Uint8Array, detected: Detected, { characters, pages }: Limits): Promise<FileText> {
  const zip = await openZip(bytes, describe(detected));
  const names = new Set(zip.entries.map(({ name }) => name));
  const small = zip.entries.some(({ name, size }) => name === 'mimetype' && size < 200);
  const mimetype = small ? (await zip.read((name) => name === 'mimetype')).get('mimetype') : undefined;
  switch (zipKind(names, Buffer.from(mimetype ?? []).toString('latin1'))) {
    case 'word':
      return (await import('./word.js')).readWord(zip, characters);
    case 'sheets':
      return (await import('./sheets.js')).readZippedSheets(zip, characters);
    case 'slides':
      return (await import('./slides.js')).readSlides(zip, { characters, pages });
    case 'open-text':
      return (await import('./open-document.js')).readOpenDocument(zip, false, characters);
    case 'open-slides':
      return (await import('./open-document.js')).readOpenDocument(zip, true, characters);
    case 'book':
      return (await import('./book.js')).readBook(zip, characters);
    default: {
      const listed = (await import('./archive.js')).listZip(zip, characters);
      if (OFFICE.test(detected.extension))
        listed.notes.push(`The file is an archive, although its name ends with .${detected.extension}.`);
      return listed;
    }
  }
}

/** Office files before 2007, and encrypted ones since. */
async function readCompound(bytes: Uint8Array, { extension }: Detected, { characters }: Limits): Promise<FileText> {
  const { CFB } = await import('@e965/xlsx');
  // Names are UTF-16; the directory can be anywhere in the file.
  const has = (name: string) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).includes(name, 0, 'utf16le');
  if (has('EncryptedPackage') && CFB.find(CFB.read(bytes, { type: 'buffer' }), '/EncryptedPackage'))
    throw new ProblemError('encrypted', `The ${describe({ format: 'zip', extension })} is protected by a password.`);
  if (has('Workbook') || has('Book')) return (await import('./sheets.js')).readSheets(bytes, characters);
  if (has('WordDocument') || has('PowerPoint Document')) {
    const [kind, modern] = has('WordDocument') ? ['Word document', 'docx'] : ['PowerPoint presentation', 'pptx'];
    throw new ProblemError(
      'unsupported',
      `The file is a ${kind} in the format before 2007, which cannot be read. Save it as .${modern} or PDF.`,
    );
  }
  if (/^(?:xls|doc|ppt)/.test(extension)) throw corrupt(describe({ format: 'compound', extension }));
  throw unsupported({ format: 'binary', extension });
}

async function readPlain(bytes: Uint8Array, detected: Detected, { characters }: Limits): Promise<FileText> {
  const text = decodeText(bytes);
  if (text === undefined) throw unsupported(detected);
  if (detected.format === 'table') return (await import('./table.js')).readTable(text, characters);
  const output = createOutput(characters);
  if (detected.format !== 'html') {
    output.add('', text);
    return textOf(output, { what: 'file', kind: 'text', total: 1 });
  }
  const { htmlTitle, htmlToText } = await import('./html.js');
  output.add('', htmlToText(text));
  return textOf(output, { what: 'page', kind: 'text', total: 1, title: htmlTitle(text) ?? '' });
}

function unsupported({ extension }: Detected): ProblemError {
  const known = /^[a-z0-9.]{1,10}$/.test(extension) ? ` (.${extension})` : '';
  return new ProblemError('unsupported', `Files of this type${known} have no text that can be read.`);
}
