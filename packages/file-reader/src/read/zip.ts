import { buffer } from 'node:stream/consumers';
import { fromBufferPromise, getFileNameLowLevel, type Entry, type ZipFile } from 'yauzl';
import { ProblemError, corrupt } from './problem.js';

/** Bytes that one archive may have after decompression, over all entries that are read. */
const MAX_BYTES = 160 * 1024 * 1024;

/** Deflate reaches 1,032; XML of real documents stays below 60, repetitive sheets below 200. */
const MAX_RATIO = 400;

/** Below this, any ratio is normal. */
const HARMLESS_BYTES = 4 * 1024 * 1024;

const MAX_ENTRIES = 50_000;

export interface ZipEntry {
  name: string;
  size: number;
  encrypted: boolean;
}

export interface Zip {
  entries: ZipEntry[];
  /** From the archive's directory. */
  total: number;
  truncated: boolean;
  /**
   * Decompresses entries. The size of each is known before and verified, so that no archive exceeds the limits.
   *
   * @throws ProblemError
   */
  read(wanted: (name: string) => boolean): Promise<Map<string, Uint8Array>>;
}

/**
 * @param what names the file in a problem
 * @throws ProblemError if the bytes are not a ZIP archive
 */
export async function openZip(bytes: Uint8Array, what: string): Promise<Zip> {
  let zip: ZipFile;
  try {
    zip = await fromBufferPromise(asBuffer(bytes), {
      autoClose: false,
      validateEntrySizes: true,
      // Otherwise, yauzl refuses archives with names such as `../a`, which are harmless here.
      decodeStrings: false,
    });
  } catch {
    throw corrupt(what);
  }
  const entries = new Map<string, Entry>();
  let truncated = false;
  try {
    for await (const entry of zip.eachEntry()) {
      truncated = entries.size >= MAX_ENTRIES;
      if (truncated) break;
      entries.set(nameOf(entry), entry);
    }
  } catch {
    throw corrupt(what);
  }
  return {
    entries: [...entries].map(([name, entry]) => ({
      name,
      size: entry.uncompressedSize,
      encrypted: entry.isEncrypted(),
    })),
    total: zip.entryCount,
    truncated,
    read: (wanted) =>
      readEntries(zip, new Map([...entries].filter(([name]) => !name.endsWith('/') && wanted(name))), what),
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function nameOf(entry: Entry): string {
  return getFileNameLowLevel(entry.generalPurposeBitFlag, entry.fileNameRaw, entry.extraFields, false);
}

async function readEntries(zip: ZipFile, entries: Map<string, Entry>, what: string): Promise<Map<string, Uint8Array>> {
  const sum = (of: (entry: Entry) => number) => [...entries.values()].reduce((total, entry) => total + of(entry), 0);
  const size = sum((entry) => entry.uncompressedSize);
  const ratio =
    size /
    Math.max(
      1,
      sum((entry) => entry.compressedSize),
    );
  if (size > MAX_BYTES || (size > HARMLESS_BYTES && ratio > MAX_RATIO))
    throw new ProblemError('too_large', `The ${what} is too large after decompression.`);
  const read = new Map<string, Uint8Array>();
  for (const [name, entry] of entries) {
    if (entry.isEncrypted()) throw new ProblemError('encrypted', `The ${what} is protected by a password.`);
    try {
      read.set(name, await buffer(await zip.openReadStreamPromise(entry)));
    } catch {
      throw corrupt(what);
    }
  }
  return read;
}
