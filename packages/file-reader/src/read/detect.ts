import { fileTypeFromBuffer } from 'file-type';

/** Pictures that are decoded, by extension. */
const PICTURE = /^(?:jpg|png|webp|gif|bmp|heic|avif|tif)$/;

export type Format =
  | 'pdf'
  | 'zip'
  | 'compound'
  | 'tar'
  | 'gzip'
  | 'rtf'
  | 'mail'
  | 'html'
  | 'table'
  /** To be decoded as text, or unknown. */
  | 'other'
  /** A known binary format without text. */
  | 'binary';

export interface Detected {
  format: Format | 'picture';
  /** From the signature or the name, without the dot. */
  extension: string;
}

/** Where PDF readers look for the signature. */
const PDF_WINDOW = 1024;

/** Extensions and media types that decide between formats of text. */
const MAIL = /^(?:eml|mht|mhtml)$/;
const TABLE = /^(?:csv|tsv|tab)$/;
const HTML = /^(?:html?|xhtml)$/;

/** Text formats that file-type recognizes. */
const TEXT = /^(?:xml|svg|ics|vcf|vtt|srt|ps|eps|pgp|asc|eml|rtf)$/;

/** Bytes decide; the name and the type only where text has no signature. */
export async function detect(bytes: Uint8Array, file: { name: string; type: string }): Promise<Detected> {
  const named = /\.([^.]{1,20})$/.exec(file.name)?.[1]?.toLowerCase() ?? '';
  const start = Buffer.from(bytes.subarray(0, PDF_WINDOW)).toString('latin1');
  if (/^PK(?:\x03\x04|\x05\x06)/.test(start)) return { format: 'zip', extension: named };
  if (start.includes('%PDF-')) return { format: 'pdf', extension: 'pdf' };
  if (/^\s*\{\\rtf/.test(start)) return { format: 'rtf', extension: 'rtf' };
  const extension = (await signature(bytes)) ?? '';
  if (PICTURE.test(extension)) return { format: 'picture', extension };
  if (extension === 'cfb') return { format: 'compound', extension: named };
  if (extension === 'tar') return { format: 'tar', extension };
  if (extension === 'gz' || extension === 'tar.gz') return { format: 'gzip', extension };
  if (extension !== '' && !TEXT.test(extension)) return { format: 'binary', extension };
  if (MAIL.test(named) || file.type === 'message/rfc822') return { format: 'mail', extension: named };
  if (TABLE.test(named) || /^text\/(?:csv|tab-separated-values)$/.test(file.type))
    return { format: 'table', extension: named };
  const isHtml = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!--[^>]*-->\s*)?<(?:!doctype html|html[\s>])/i.test(
    start.replace(/^ï»¿/, ''),
  );
  if (isHtml || HTML.test(named)) return { format: 'html', extension: named };
  return { format: 'other', extension: named };
}

async function signature(bytes: Uint8Array): Promise<string | undefined> {
  try {
    const found = (await fileTypeFromBuffer(bytes))?.ext;
    // A picture with several frames or a camera's variant is read like the plain format.
    return found === 'apng' ? 'png' : found;
  } catch {
    return undefined;
  }
}

export type ZipKind = 'word' | 'sheets' | 'slides' | 'open-text' | 'open-slides' | 'book' | 'archive';

/** @param mimetype content of the entry `mimetype`, which OpenDocument and EPUB have */
export function zipKind(names: ReadonlySet<string>, mimetype: string): ZipKind {
  if (names.has('word/document.xml')) return 'word';
  if (names.has('xl/workbook.xml') || names.has('xl/workbook.bin')) return 'sheets';
  if (names.has('ppt/presentation.xml')) return 'slides';
  if (mimetype.startsWith('application/vnd.oasis.opendocument.')) {
    if (mimetype.includes('spreadsheet')) return 'sheets';
    return mimetype.includes('presentation') ? 'open-slides' : 'open-text';
  }
  return mimetype.startsWith('application/epub') || names.has('META-INF/container.xml') ? 'book' : 'archive';
}
