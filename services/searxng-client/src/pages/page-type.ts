import { PageError } from './page-error.js';

export type PageKind = 'html' | 'text' | 'pdf';

const TEXT_TYPE = /^(?:text\/.+|application\/(?:.+\+)?(?:json|xml|yaml|x-yaml|x-ndjson))$/;

const essenceOf = (contentType: string): string => (contentType.split(';')[0] ?? '').trim().toLowerCase();

/** @throws PageError `unsupported_type` */
export function kindOf(contentType: string): PageKind | 'unknown' {
  const type = essenceOf(contentType);
  if (type === '' || type === 'application/octet-stream' || type === 'binary/octet-stream') return 'unknown';
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html';
  if (type === 'application/pdf' || type === 'application/x-pdf') return 'pdf';
  if (TEXT_TYPE.test(type)) return 'text';
  throw new PageError('unsupported_type', `a ${type.slice(0, 80)} file cannot be read as a page`);
}

/** For a server that names no type. @throws PageError `unsupported_type` */
export function sniffedKind(bytes: Buffer): PageKind {
  const start = bytes.subarray(0, 1_024).toString('latin1');
  if (start.startsWith('%PDF-')) return 'pdf';
  if (/^\s*(?:<!doctype html|<html|<head|<body|<!--)/i.test(start)) return 'html';
  if (/[\0-\x08\x0e-\x1a]/.test(start))
    throw new PageError('unsupported_type', 'a binary file without a known type cannot be read as a page');
  return 'text';
}

/** Bytes in which a page names its encoding. */
const DECLARED_IN = 1_024;
const DECLARATION = /<meta[^>]+charset\s*=\s*["']?\s*([\w:-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w:-]+)/i;

function decoderOf(label: string | undefined) {
  try {
    return label === undefined ? undefined : new TextDecoder(label);
  } catch {
    return undefined;
  }
}

function boundaryMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8';
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be';
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le';
  return undefined;
}

/** Decodes text as browsers do: by its byte order mark, the server's word, the page's own word, or what it looks like. */
export function decoded(bytes: Buffer, contentType: string): string {
  const named = /charset\s*=\s*"?\s*([\w:-]+)/i.exec(contentType)?.[1];
  const declared = DECLARATION.exec(bytes.subarray(0, DECLARED_IN).toString('latin1'));
  const known =
    decoderOf(boundaryMark(bytes)) ?? decoderOf(named) ?? decoderOf(declared?.[1] ?? declared?.[2] ?? undefined);
  if (known !== undefined) return known.decode(bytes);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder('windows-1252').decode(bytes);
  }
}
