import { randomUUID } from 'node:crypto';
import { Readable } from 'node:stream';

/** A form with text fields and one file. Servers choose a decoder by the file's extension. */
export interface Form {
  fields: Readonly<Record<string, string>>;
  file: { name: string; type: string; bytes: number; content: AsyncIterable<Uint8Array> };
}

/** Writes a form without keeping the file in memory. `bytes`: the length of the body */
export function multipart({ fields, file }: Form): { contentType: string; bytes: number; body: Readable } {
  const boundary = `uswarm-${randomUUID()}`;
  const part = (disposition: string, rest: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${rest}`;
  const texts = Object.entries(fields).map(([name, value]) => part(`name="${name}"`, `\r\n${value}\r\n`));
  const opening = part(`name="file"; filename="${file.name}"`, `Content-Type: ${file.type}\r\n\r\n`);
  const head = Buffer.from(`${texts.join('')}${opening}`);
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
  async function* content(): AsyncGenerator<Uint8Array> {
    yield head;
    yield* file.content;
    yield tail;
  }
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    bytes: head.byteLength + file.bytes + tail.byteLength,
    body: Readable.from(content()),
  };
}

/**
 * Extensions that OpenAI's server knows. Other formats keep the name of their type: servers that decode with ffmpeg
 * know more of them.
 */
const EXTENSIONS: Readonly<Record<string, string>> = {
  'audio/flac': 'flac',
  'audio/x-flac': 'flac',
  'audio/m4a': 'm4a',
  'audio/mp4': 'm4a',
  'audio/x-m4a': 'm4a',
  'audio/mp3': 'mp3',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg',
  'audio/opus': 'ogg',
  'audio/wav': 'wav',
  'audio/wave': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/x-wav': 'wav',
  'audio/webm': 'webm',
};
/** Types by the names that servers know. */
const TYPES: Readonly<Record<string, string>> = {
  flac: 'audio/flac',
  m4a: 'audio/mp4',
  mp3: 'audio/mpeg',
  ogg: 'audio/ogg',
  wav: 'audio/wav',
  webm: 'audio/webm',
};

/** The user's file name is not sent: it can name persons. */
export function recordingFile(mediaType: string): { name: string; type: string } {
  const essence = mediaType.split(';')[0]?.trim().toLowerCase() ?? '';
  const extension = EXTENSIONS[essence] ?? /^audio\/(?:x-)?([a-z0-9]{1,10})$/.exec(essence)?.[1] ?? 'bin';
  return {
    name: `recording.${extension}`,
    type: TYPES[extension] ?? (extension === 'bin' ? 'application/octet-stream' : essence),
  };
}
