import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { type ReceiptKey, receiptKeyId, ReceiptSignatureError, verifyManifestSignature } from '@uswarm/service-kit';
import { Entry, fromRandomAccessReaderPromise, openPromise, type ZipFile } from 'yauzl';
import { z } from 'zod';
import { boundedJson } from './bounded-json.js';
import {
  FORMAT,
  isMemberPath,
  KEYS_PATH,
  type Manifest,
  MANIFEST_PATH,
  ManifestHead,
  MAX_MEMBERS,
  Member,
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
/** Of all members. Data that compresses well can be a thousand times as large as its archive. */
const MAX_BYTES = 16 * 1024 ** 3;
/** Of the manifest, per member and for the rest. */
const MEMBER_BYTES = 200;
const MEMBER_VALUES = 8;
const HEAD_BYTES = 1024;
const HEAD_VALUES = 64;
const MAX_SIGNATURE_BYTES = 1024;
const MAX_KEYS_BYTES = 1024 ** 2;
const MAX_KEYS = 1_000;
/** No member has a longer name. Large archives and times need extra fields. */
const MAX_NAME_BYTES = 64;
const MAX_EXTRA_BYTES = 64;

const Key = z
  .object({ kid: z.string(), x: z.string().regex(/^[\w-]{43}$/) })
  .refine(({ kid, x }) => kid === receiptKeyId(x));
const Keys = z
  .object({ keys: z.array(Key).max(MAX_KEYS) })
  .refine(({ keys }) => new Set(keys.map(({ kid }) => kid)).size === keys.length);
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

/** Long names are refused before they are decoded. */
const OPTIONS = { autoClose: false, lazyEntries: true, decodeStrings: false };

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
  const manifestBytes = await readWhole(zip, entries, MANIFEST_PATH, HEAD_BYTES + MEMBER_BYTES * entries.size);
  const jws = (await readWhole(zip, entries, SIGNATURE_PATH, MAX_SIGNATURE_BYTES)).toString();
  const manifest = await parsedManifest(manifestBytes, entries.size);
  const members = new Map(manifest.members.map((member) => [member.path, member]));
  requireSameMembers(manifest, members, entries);
  const keyBytes = await readWhole(zip, entries, KEYS_PATH, MAX_KEYS_BYTES);
  const keys = Keys.safeParse(boundedJson(keyBytes, KEYS_PATH, 'members_invalid', MAX_KEYS * MEMBER_VALUES));
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
    const path = entry.fileNameRaw.subarray(0, MAX_NAME_BYTES).toString('latin1');
    const refuse = (why: string) => new SwarmFileError('members_invalid', `${JSON.stringify(path)} ${why}`);
    if (entries.size >= MAX_MEMBERS) throw new SwarmFileError('too_large', 'the file has too many members');
    const isKnown = [MANIFEST_PATH, SIGNATURE_PATH].includes(path) || isMemberPath(path);
    if (!isKnown || entry.fileNameLength > MAX_NAME_BYTES) throw refuse('is unknown');
    if (entry.fileCommentLength > 0) throw refuse('has a comment');
    if (entry.extraFieldLength > MAX_EXTRA_BYTES) throw refuse('has long extra fields');
    if (entries.has(path)) throw refuse('is there twice');
    if (entry.isEncrypted()) throw refuse('is encrypted');
    if (![STORED, DEFLATED].includes(entry.compressionMethod)) throw refuse('has an unknown compression');
    compressed += entry.compressedSize;
    if (compressed > zip.fileSize) throw refuse('overlaps others');
    bytes += entry.uncompressedSize;
    if (bytes > MAX_BYTES) throw new SwarmFileError('too_large', 'the members are too large');
    entries.set(path, compact(entry));
  }
  return entries;
}

/** An archive can have very many entries, so this one has only the fields that open it. */
function compact({
  compressedSize,
  compressionMethod,
  generalPurposeBitFlag,
  relativeOffsetOfLocalHeader,
  uncompressedSize,
}: Entry): Entry {
  const needed = {
    compressedSize,
    compressionMethod,
    generalPurposeBitFlag,
    relativeOffsetOfLocalHeader,
    uncompressedSize,
  };
  return Object.assign(new Entry(), needed);
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

async function parsedManifest(bytes: Buffer, entries: number): Promise<Manifest> {
  const value = boundedJson(bytes, MANIFEST_PATH, 'not_a_swarm_file', HEAD_VALUES + MEMBER_VALUES * entries);
  const version = Version.safeParse(value);
  if (!version.success) throw new SwarmFileError('not_a_swarm_file', `${MANIFEST_PATH} is not one of this format`);
  if (version.data.version !== FORMAT.version) {
    throw new SwarmFileError('version_unsupported', `version ${version.data.version} of the format is not supported`);
  }
  const { members, ...head } = valid(ManifestHead, value, '');
  const manifest: Manifest = { ...head, members: [] };
  for (const [at, member] of members.entries()) {
    manifest.members.push(valid(Member, member, `members.${at}`));
    // Others use the process too.
    if (at % 1_000 === 0) await setImmediate();
  }
  return manifest;
}

/** @throws SwarmFileError with the first error */
function valid<Schema extends z.ZodType>(schema: Schema, value: unknown, place: string): z.output<Schema> {
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return data;
  const [issue] = error.issues;
  const where = [MANIFEST_PATH, [place, ...(issue?.path ?? [])].filter((key) => key !== '').join('.'), issue?.message];
  // The text can name a key of any length.
  throw new SwarmFileError('members_invalid', where.join(': ').slice(0, 300));
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
