import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { parseTar } from 'nanotar';
import type { FileText } from '../file-reader.js';
import { createOutput, textOf } from './output.js';
import { corrupt, ProblemError } from './problem.js';
import type { Zip } from './zip.js';

/** Limits a compressed archive after decompression. */
const MAX_BYTES = 128 * 1024 * 1024;

const NOT_UNPACKED = 'The archive was not unpacked; these are the names and sizes of its files.';

interface Listed {
  name: string;
  size: number;
  encrypted?: boolean;
}

export function listZip({ entries, total, truncated }: Zip, characters: number): FileText {
  return listing(entries, { total, truncated, characters });
}

export function listTar(bytes: Uint8Array, characters: number, truncated = false): FileText {
  let entries: Listed[];
  try {
    // nanotar takes the whole buffer below a view.
    entries = parseTar(new Uint8Array(bytes), { metaOnly: true });
  } catch {
    throw corrupt('archive');
  }
  return listing(entries, { total: entries.length, truncated, characters });
}

/** @param isTar of the decompressed bytes */
export async function listGzip(
  bytes: Uint8Array,
  { name, characters, isTar }: { name: string; characters: number; isTar: (bytes: Uint8Array) => boolean },
): Promise<FileText> {
  const { content, truncated } = await gunzip(bytes);
  if (isTar(content)) return listTar(content, characters, truncated);
  const entries = [{ name: name.replace(/\.gz$/i, ''), size: content.length }];
  return listing(entries, { total: 1, truncated, characters });
}

async function gunzip(bytes: Uint8Array): Promise<{ content: Uint8Array; truncated: boolean }> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  const source = Readable.from([bytes]).pipe(createGunzip());
  try {
    for await (const chunk of source as AsyncIterable<Uint8Array>) {
      size += chunk.length;
      if (size > MAX_BYTES) return { content: Buffer.concat(chunks), truncated: true };
      chunks.push(chunk);
    }
  } catch {
    throw corrupt('archive');
  }
  return { content: Buffer.concat(chunks), truncated: false };
}

function listing(
  entries: Listed[],
  { total, truncated, characters }: { total: number; truncated: boolean; characters: number },
): FileText {
  if (entries.length === 0) throw new ProblemError('empty', 'The archive has no files.');
  const lines = entries.map(
    ({ name, size, encrypted }) => `${size}\t${printable(name)}${encrypted ? '\t(encrypted)' : ''}`,
  );
  const output = createOutput(characters);
  output.add('', lines.join('\n'));
  if (truncated) output.stop();
  return textOf(output, { what: 'archive', kind: 'listing', total, notes: [NOT_UNPACKED] });
}

/** Names may have anything in them, such as line breaks that forge entries. */
function printable(name: string): string {
  return name.replaceAll(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, '\uFFFD').slice(0, 1_000);
}
