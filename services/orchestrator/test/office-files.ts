import { type Zippable, zipSync } from 'fflate';

const OPEN_XML = 'application/vnd.openxmlformats-officedocument';
export const SPREADSHEET = `${OPEN_XML}.spreadsheetml.sheet`;

export const zip = (entries: Record<string, string | Uint8Array>): Buffer =>
  Buffer.from(
    zipSync(
      Object.fromEntries(
        Object.entries(entries).map(([name, content]): [string, Zippable[string]] => [
          name,
          [typeof content === 'string' ? Buffer.from(content) : content, { level: name.endsWith('.xml') ? 6 : 0 }],
        ]),
      ),
    ),
  );

export const contentTypes = (main: string): string =>
  `<?xml version="1.0"?><Types><Default Extension="xml" ContentType="application/xml"/><Override PartName="/main.xml" ContentType="${main}.main+xml"/></Types>`;

/** As openpyxl writes it: the types are the last part, behind more than is read to detect the type. */
export const lateSpreadsheet = (): Buffer =>
  zip({
    'docProps/app.xml': '<Properties/>',
    'xl/theme/theme1.bin': Buffer.alloc(9_000, 1),
    'xl/workbook.xml': '<workbook/>',
    '[Content_Types].xml': contentTypes(SPREADSHEET),
  });

const SECTOR = 512;

/** Builds a compound file with root streams and an embedded document's streams. */
export function compoundFile(streams: readonly string[], embedded: readonly string[] = []): Buffer {
  const names = ['Root Entry', ...streams, 'ObjectPool', ...embedded];
  const directory = Buffer.alloc(Math.ceil((names.length * 128) / SECTOR) * SECTOR);
  const pool = streams.length + 1;
  for (const [index, name] of names.entries()) {
    const at = index * 128;
    directory.write(name, at, 'utf16le');
    directory.writeUInt16LE(2 * name.length + 2, at + 64);
    const isLast = index === pool || index === names.length - 1;
    const child = index === 0 ? 1 : index === pool && embedded.length > 0 ? pool + 1 : -1;
    for (const [offset, value] of [
      [68, -1],
      [72, index === 0 || isLast ? -1 : index + 1],
      [76, child],
    ] as const) {
      directory.writeInt32LE(value, at + offset);
    }
  }
  const header = Buffer.alloc(SECTOR, 0xff);
  Buffer.from('d0cf11e0a1b11ae1', 'hex').copy(header);
  header.writeUInt16LE(9, 30);
  header.writeUInt32LE(1, 48);
  header.writeUInt32LE(0, 76);
  const table = Buffer.alloc(SECTOR, 0xff);
  const sectors = directory.length / SECTOR;
  for (let n = 0; n < sectors; n += 1) table.writeInt32LE(n === sectors - 1 ? -2 : n + 2, 4 * (n + 1));
  return Buffer.concat([header, table, directory]);
}
