import { callbackify } from 'node:util';
import { inflateRawSync } from 'node:zlib';
import type { ITokenizer } from 'strtok3';
import { type Entry, fromRandomAccessReaderPromise, RandomAccessReader, type ZipFile } from 'yauzl';

const MAX_ENTRIES = 10_000;
/** Maximum text read from an entry that states the type. */
const MAX_TEXT = 1_024 * 1_024;
const STORED = 0;
const DEFLATED = 8;

const OPEN_DOCUMENT = /^application\/(?:epub\+zip|vnd\.oasis\.opendocument\.[a-z-]+|vnd\.sun\.xml\.[a-z.]+)$/;
/** These Office Open XML types differ between the main part and the file. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'application/vnd.ms-excel.sheet.binary.macroenabled': 'application/vnd.ms-excel.sheet.binary.macroenabled.12',
  'application/vnd.ms-word.template.macroenabledtemplate': 'application/vnd.ms-word.template.macroenabled.12',
  'application/vnd.ms-visio.drawing': 'application/vnd.visio',
};
const FOLDERS: readonly [RegExp, string][] = [
  [/^word\//, 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
  [/^xl\//, 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  [/^ppt\//, 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
  [/^3D\/.*\.model$/, 'model/3mf'],
];
/** The first match decides. */
const BY_NAME: readonly [RegExp, string][] = [
  [/^AndroidManifest\.xml$/, 'application/vnd.android.package-archive'],
  [/^Index\/MasterSlide/, 'application/vnd.apple.keynote'],
  [/^Index\/(?:Tables\/|CalculationEngine)/, 'application/vnd.apple.numbers'],
  [/^Index\/Document\.iwa$/, 'application/vnd.apple.pages'],
  [/^META-INF\/mozilla\.rsa$/, 'application/x-xpinstall'],
  [/^META-INF\/MANIFEST\.MF$/, 'application/java-archive'],
];

/** Reads the ZIP file's central directory, so entry order and sizes do not matter. */
export async function readZipType(tokenizer: ITokenizer): Promise<string | undefined> {
  const zip = await fromRandomAccessReaderPromise(new TokenizerReader(tokenizer), tokenizer.fileInfo.size ?? 0, {
    decodeStrings: false,
  });
  const names: string[] = [];
  let [mimetype, contentTypes]: (Entry | undefined)[] = [];
  for await (const entry of zip.eachEntry()) {
    const name = nameOf(entry);
    names.push(name);
    if (name === 'mimetype') mimetype = entry;
    if (name === '[Content_Types].xml') contentTypes = entry;
    if (names.length >= MAX_ENTRIES) break;
  }
  const stated = (await readText(zip, mimetype, tokenizer))?.trim();
  if (stated !== undefined && OPEN_DOCUMENT.test(stated)) return stated;
  const isOffice = contentTypes !== undefined;
  return (
    (isOffice ? (officeType(await readText(zip, contentTypes, tokenizer)) ?? first(FOLDERS, names)) : undefined) ??
    first(BY_NAME, names) ??
    'application/zip'
  );
}

/** Some programs write backslashes. */
const nameOf = (entry: Entry): string => entry.fileNameRaw.toString('utf8').replaceAll('\\', '/');

const first = (types: readonly [RegExp, string][], names: readonly string[]): string | undefined =>
  types.find(([pattern]) => names.some((name) => pattern.test(name)))?.[1];

/** The main part has a content type such as `…spreadsheetml.sheet.main+xml`. */
function officeType(xml: string | undefined): string | undefined {
  // The text can be in UTF-16.
  const main = /ContentType\s*=\s*["']([^"']+?)\.main(?:\+xml)?["']/i.exec(xml?.replaceAll('\0', '') ?? '')?.[1];
  if (main === undefined) return undefined;
  const name = main.toLowerCase();
  return OTHER_NAMES[name] ?? (name.endsWith('.macroenabled') ? `${name}.12` : name);
}

async function readText(zip: ZipFile, entry: Entry | undefined, tokenizer: ITokenizer): Promise<string | undefined> {
  if (entry === undefined || entry.isEncrypted() || entry.compressedSize > MAX_TEXT) return undefined;
  const { fileDataStart } = await zip.readLocalFileHeaderPromise(entry, { minimal: true });
  const bytes = Buffer.alloc(entry.compressedSize);
  await tokenizer.peekBuffer(bytes, { position: fileDataStart });
  if (entry.compressionMethod === STORED) return bytes.toString();
  return entry.compressionMethod === DEFLATED
    ? inflateRawSync(bytes, { maxOutputLength: MAX_TEXT }).toString()
    : undefined;
}

class TokenizerReader extends RandomAccessReader {
  readonly #tokenizer: ITokenizer;

  constructor(tokenizer: ITokenizer) {
    super();
    this.#tokenizer = tokenizer;
  }

  override read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
    callback: (error: Error | null) => void,
  ): void {
    const target = buffer.subarray(offset, offset + length);
    callbackify(() => this.#tokenizer.peekBuffer(target, { position }))(callback);
  }

  override close(callback: (error: Error | null) => void): void {
    callback(null);
  }
}
