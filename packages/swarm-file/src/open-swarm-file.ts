import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { parseJson, type ReceiptKey, ReceiptSignatureError, verifyManifestSignature } from '@uswarm/service-kit';
import { type Entry, fromRandomAccessReaderPromise, openPromise, type ZipFile } from 'yauzl';
import { z } from 'zod';
import {
  FORMAT,
  isMemberPath,
  KEYS_PATH,
  Manifest,
  MANIFEST_PATH,
  type Member,
  REQUIRED_PATHS,
  SIGNATURE_PATH,
} from './manifest.js';
import { SwarmFileError } from './problem.js';
import { isOfSource, type Source, SourceReader } from './source-reader.js';

export interface SwarmFile {
  manifest: Manifest;
  /** As the file carries them: its maker chose them. */
  keys: ReceiptKey[];
  /** Verifies the manifest's signature. @returns the key's id @throws SwarmFileError `signature_invalid` */
  verifySignature(keys: readonly ReceiptKey[]): Promise<string>;
  /** The stream fails with `content_changed` unless it has the manifest's size and hash. @throws SwarmFileError */
  open(path: string): Promise<Readable>;
  /** A member's bytes; undefined without the member. */
  sizeOf(path: string): number | undefined;
  close(): void;
}

const STORED = 0;
const DEFLATED = 8;
/** More than an installation's limits allow. */
const MAX_MEMBERS = 250_000;
/** Of all members. Data that compresses well can be a thousand times as large as its archive. */
const MAX_BYTES = 16 * 1024 ** 3;
const MAX_MANIFEST_BYTES = 64 * 1024 ** 2;
const MAX_SMALL_BYTES = 1024 ** 2;

const Keys = z.object({ keys: z.array(z.object({ kid: z.string(), x: z.string() })) });
const Version = z.looseObject({ format: z.literal(FORMAT.format), version: z.int() });

/**
 * Opens a file on a disk. Content is only verified when it is read.
 *
 * @throws SwarmFileError, and the error of a file that cannot be read
 */
export const openSwarmFile = (path: string): Promise<SwarmFile> => openZip(openPromise(path, OPTIONS));

/** As `openSwarmFile`, for a file whose parts are read from elsewhere. */
export const openRemoteSwarmFile = (source: Source): Promise<SwarmFile> =>
  openZip(fromRandomAccessReaderPromise(new SourceReader(source), source.size, OPTIONS));

const OPTIONS = { autoClose: false, lazyEntries: true };

async function openZip(opening: Promise<ZipFile>): Promise<SwarmFile> {
  const zip = await opening.catch((error: Error) => {
    throw isOfSource(error) ? error : new SwarmFileError('not_a_swarm_file', error.message, { cause: error });
  });
  try {
    return await opened(zip);
  } catch (error) {
    zip.close();
    throw error;
  }
}

async function opened(zip: ZipFile): Promise<SwarmFile> {
  const entries = await entriesOf(zip);
  const manifestBytes = await readWhole(zip, entries, MANIFEST_PATH, MAX_MANIFEST_BYTES);
  const jws = (await readWhole(zip, entries, SIGNATURE_PATH, MAX_SMALL_BYTES)).toString();
  const manifest = parsedManifest(manifestBytes);
  const members = new Map(manifest.members.map((member) => [member.path, member]));
  requireSameMembers(manifest, members, entries);
  const keys = Keys.safeParse(parseJson((await readWhole(zip, entries, KEYS_PATH, MAX_SMALL_BYTES)).toString()));
  if (!keys.success) throw new SwarmFileError('members_invalid', `${KEYS_PATH} is not a key set`);
  return {
    manifest,
    keys: keys.data.keys,
    verifySignature: (trusted) =>
      verifyManifestSignature(jws, manifestBytes, trusted).catch((error: unknown) => {
        if (!(error instanceof ReceiptSignatureError)) throw error;
        throw new SwarmFileError('signature_invalid', error.message, { cause: error });
      }),
    async open(path) {
      const [entry, member] = [entries.get(path), members.get(path)];
      if (entry === undefined || member === undefined) throw missing(path);
      return checked(await zip.openReadStreamPromise(entry), member);
    },
    sizeOf: (path) => members.get(path)?.size,
    close: () => zip.close(),
  };
}

const missing = (path: string): SwarmFileError => new SwarmFileError('members_invalid', `${path} is missing`);

/** Reads the archive's directory. Members that overlap can be larger together than the archive. */
async function entriesOf(zip: ZipFile): Promise<Map<string, Entry>> {
  const entries = new Map<string, Entry>();
  let [bytes, compressed] = [0, 0];
  for await (const entry of eachEntry(zip)) {
    const path = entry.fileName;
    const refuse = (why: string) =>
      new SwarmFileError('members_invalid', `${JSON.stringify(path.slice(0, 200))} ${why}`);
    if (entries.size >= MAX_MEMBERS) throw new SwarmFileError('too_large', 'the file has too many members');
    if (![MANIFEST_PATH, SIGNATURE_PATH].includes(path) && !isMemberPath(path)) throw refuse('is unknown');
    if (entries.has(path)) throw refuse('is there twice');
    if (entry.isEncrypted()) throw refuse('is encrypted');
    if (![STORED, DEFLATED].includes(entry.compressionMethod)) throw refuse('has an unknown compression');
    compressed += entry.compressedSize;
    if (compressed > zip.fileSize) throw refuse('overlaps others');
    bytes += entry.uncompressedSize;
    if (bytes > MAX_BYTES) throw new SwarmFileError('too_large', 'the members are too large');
    entries.set(path, entry);
  }
  return entries;
}

async function* eachEntry(zip: ZipFile): AsyncGenerator<Entry> {
  try {
    yield* zip.eachEntry();
  } catch (error) {
    if (error instanceof SwarmFileError || isOfSource(error)) throw error;
    throw new SwarmFileError('not_a_swarm_file', (error as Error).message, { cause: error });
  }
}

async function readWhole(
  zip: ZipFile,
  entries: ReadonlyMap<string, Entry>,
  path: string,
  maxBytes: number,
): Promise<Buffer> {
  const entry = entries.get(path);
  if (entry === undefined) throw new SwarmFileError('not_a_swarm_file', `${path} is missing`);
  if (entry.uncompressedSize > maxBytes) throw new SwarmFileError('too_large', `${path} is too large`);
  try {
    // It ends after the size in the directory.
    return await buffer(await zip.openReadStreamPromise(entry));
  } catch (error) {
    if (isOfSource(error)) throw error;
    throw new SwarmFileError('content_changed', `${path} cannot be read`, { cause: error });
  }
}

function parsedManifest(bytes: Buffer): Manifest {
  const value = parseJson(bytes.toString());
  const version = Version.safeParse(value);
  if (!version.success) throw new SwarmFileError('not_a_swarm_file', `${MANIFEST_PATH} is not one of this format`);
  if (version.data.version !== FORMAT.version) {
    throw new SwarmFileError('version_unsupported', `version ${version.data.version} of the format is not supported`);
  }
  const { data, error } = Manifest.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  throw new SwarmFileError('members_invalid', `${MANIFEST_PATH}: ${issue?.path.join('.')}: ${issue?.message}`);
}

function requireSameMembers(
  manifest: Manifest,
  members: ReadonlyMap<string, Member>,
  entries: ReadonlyMap<string, Entry>,
): void {
  if (members.size !== manifest.members.length) {
    throw new SwarmFileError('members_invalid', `${MANIFEST_PATH} lists a member twice`);
  }
  const absent = REQUIRED_PATHS.find((path) => !members.has(path));
  if (absent !== undefined) throw missing(absent);
  for (const { path, size } of manifest.members) {
    const entry = entries.get(path);
    if (entry === undefined) throw missing(path);
    if (entry.uncompressedSize !== size) throw changed(path);
  }
  const listed = new Set([MANIFEST_PATH, SIGNATURE_PATH, ...members.keys()]);
  for (const path of entries.keys()) {
    if (!listed.has(path)) throw new SwarmFileError('members_invalid', `${path} is not in ${MANIFEST_PATH}`);
  }
}

const changed = (path: string, cause?: unknown): SwarmFileError =>
  new SwarmFileError('content_changed', `${path} is not what was signed`, { cause });

function checked(content: Readable, { path, size, sha256 }: Member): Readable {
  async function* read(): AsyncGenerator<Buffer> {
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      for await (const chunk of content as AsyncIterable<Buffer>) {
        hash.update(chunk);
        bytes += chunk.length;
        yield chunk;
      }
    } catch (error) {
      throw isOfSource(error) ? error : changed(path, error);
    }
    if (bytes !== size || hash.digest('hex') !== sha256) throw changed(path);
  }
  return Readable.from(read(), { objectMode: false });
}
