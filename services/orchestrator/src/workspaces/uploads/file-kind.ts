import type { AttachmentType } from '@uswarm/contract';
import { BINARY_CONTROLS } from '@uswarm/service-kit';
import { fileTypeFromBuffer } from 'file-type';

export const SNIFFED_BYTES = 4_100;

const UNKNOWN = 'application/octet-stream';

/** Detects the media type from the first bytes; the client's claim is ignored. */
export async function sniffMediaType(head: Buffer): Promise<string> {
  const found = await fileTypeFromBuffer(head).catch(() => undefined);
  if (found !== undefined) return found.mime;
  return isText(head) ? textType(head) : UNKNOWN;
}

/** UTF-8 without control characters; the last character may be cut off. */
function isText(head: Buffer): boolean {
  if (head.length === 0) return false;
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(head, { stream: true });
    return !BINARY_CONTROLS.test(text);
  } catch {
    return false;
  }
}

/** Distinguishes markup from plain text, because a browser runs scripts in markup. */
function textType(head: Buffer): string {
  const start = new TextDecoder().decode(head).trimStart().toLowerCase();
  if (/^<svg[\s>]/.test(start) || /^<\?xml[^>]*>\s*(<!doctype svg|<svg)/.test(start)) return 'image/svg+xml';
  if (start.startsWith('<?xml')) return 'application/xml';
  return /^<(!doctype html|!--|[a-z][\w:-]*[\s/>])/.test(start) ? 'text/html' : 'text/plain';
}

// ENUM-013
export function attachmentType(mediaType: string): AttachmentType {
  if (mediaType === 'image/svg+xml') return 'file';
  const [family] = mediaType.split('/');
  return family === 'image' || family === 'video' || family === 'audio' ? family : 'file';
}

/** True if the file may have tracks to read. */
export const isMedia = (mediaType: string): boolean => /^(?:audio|video)\//.test(mediaType);

export const isPicture = (mediaType: string): boolean => attachmentType(mediaType) === 'image';

/** True if the file can be a document whose first bytes do not identify it reliably. */
export const isContainer = (mediaType: string): boolean =>
  /^application\/(?:zip|java-archive|x-xpinstall|x-cfb|vnd\.(?:openxmlformats|ms-|apple\.)\S+)$/.test(mediaType);

const INERT = new Set([
  'application/pdf',
  'application/zip',
  'image/apng',
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/heic',
  'image/heif',
  'image/jpeg',
  'image/png',
  'image/tiff',
  'image/webp',
  'text/plain',
]);

/** Returns the actual type only if a browser does not run it. */
export function servedType(mediaType: string): string {
  if (mediaType === 'text/plain') return 'text/plain; charset=utf-8';
  return INERT.has(mediaType) || /^(audio|video)\//.test(mediaType) ? mediaType : UNKNOWN;
}
