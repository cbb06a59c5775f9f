import type { ITokenizer } from 'strtok3';

const ENTRY_BYTES = 128;
const MAX_ENTRIES = 4_096;
/** Sector numbers from here on end a chain or mark an absent entry. */
const LAST_SECTOR = 0xff_ff_ff_fa;
const NONE = 0xff_ff_ff_ff;
/** The header lists this many sector tables; a directory beyond them is not read. */
const LISTED_TABLES = 109;

/** The first match decides. */
const STREAMS: readonly [string, string][] = [
  ['WordDocument', 'application/msword'],
  ['Workbook', 'application/vnd.ms-excel'],
  ['Book', 'application/vnd.ms-excel'],
  ['PowerPoint Document', 'application/vnd.ms-powerpoint'],
  ['VisioDocument', 'application/vnd.visio'],
  ['__properties_version1.0', 'application/vnd.ms-outlook'],
];
const OPEN_XML = 'application/vnd.openxmlformats-officedocument';
/** Only the name tells an encrypted document's type. */
const ENCRYPTED: Readonly<Record<string, string>> = {
  docx: `${OPEN_XML}.wordprocessingml.document`,
  dotx: `${OPEN_XML}.wordprocessingml.template`,
  docm: 'application/vnd.ms-word.document.macroenabled.12',
  xlsx: `${OPEN_XML}.spreadsheetml.sheet`,
  xltx: `${OPEN_XML}.spreadsheetml.template`,
  xlsm: 'application/vnd.ms-excel.sheet.macroenabled.12',
  xlsb: 'application/vnd.ms-excel.sheet.binary.macroenabled.12',
  pptx: `${OPEN_XML}.presentationml.presentation`,
  potx: `${OPEN_XML}.presentationml.template`,
  ppsx: `${OPEN_XML}.presentationml.slideshow`,
  pptm: 'application/vnd.ms-powerpoint.presentation.macroenabled.12',
};

/** Detects documents of older Office programs, and encrypted ones, by the streams in their root. */
export async function readCompoundType(tokenizer: ITokenizer, fileName: string): Promise<string | undefined> {
  const names = await rootNames(tokenizer);
  if (names.has('EncryptedPackage')) return ENCRYPTED[/\.([^.]+)$/.exec(fileName)?.[1]?.toLowerCase() ?? ''];
  return STREAMS.find(([name]) => names.has(name))?.[1];
}

interface DirectoryEntry {
  name: string;
  left: number;
  right: number;
  child: number;
}

/** Only names in the root: other folders belong to embedded documents. */
async function rootNames(tokenizer: ITokenizer): Promise<Set<string>> {
  const entries = await directory(tokenizer);
  const names = new Set<string>();
  const seen = new Set<number>();
  const waiting = [entries[0]?.child ?? NONE];
  for (let index = waiting.pop(); index !== undefined; index = waiting.pop()) {
    const entry = entries[index];
    if (entry === undefined || seen.has(index)) continue;
    seen.add(index);
    names.add(entry.name);
    waiting.push(entry.left, entry.right);
  }
  return names;
}

async function directory(tokenizer: ITokenizer): Promise<DirectoryEntry[]> {
  const readAt = async (position: number, length: number): Promise<Buffer> => {
    const bytes = Buffer.alloc(length);
    await tokenizer.peekBuffer(bytes, { position });
    return bytes;
  };
  const header = await readAt(0, 512);
  const sectorBytes = 2 ** Math.min(Math.max(header.readUInt16LE(30), 7), 16);
  const positionOf = (sector: number): number => (sector + 1) * sectorBytes;
  const perTable = sectorBytes / 4;
  const next = async (sector: number): Promise<number> => {
    const table = Math.floor(sector / perTable);
    if (table >= LISTED_TABLES) return NONE;
    const position = positionOf(header.readUInt32LE(76 + 4 * table)) + 4 * (sector % perTable);
    return (await readAt(position, 4)).readUInt32LE();
  };
  const entries: DirectoryEntry[] = [];
  let sector = header.readUInt32LE(48);
  while (sector < LAST_SECTOR && entries.length < MAX_ENTRIES) {
    const bytes = await readAt(positionOf(sector), sectorBytes);
    for (let at = 0; at + ENTRY_BYTES <= bytes.length; at += ENTRY_BYTES) {
      const length = Math.min(bytes.readUInt16LE(at + 64), 64);
      const name = bytes.toString('utf16le', at, at + Math.max(0, length - 2));
      const [left, right, child] = [68, 72, 76].map((offset) => bytes.readUInt32LE(at + offset)) as [
        number,
        number,
        number,
      ];
      entries.push({ name, left, right, child });
    }
    sector = await next(sector);
  }
  return entries;
}
