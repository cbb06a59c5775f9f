import { Readable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { silentLogger } from '@uswarm/service-kit';
import fc from 'fast-check';
import { compoundFile, contentTypes, lateSpreadsheet, SPREADSHEET, zip } from '../../../test/office-files.js';
import { createFileDetails } from './file-details.js';
import { attachmentType, sniffMediaType, SNIFFED_BYTES } from './file-kind.js';

const OPEN_XML = 'application/vnd.openxmlformats-officedocument';
const DOCUMENT = `${OPEN_XML}.wordprocessingml.document`;
const BIG = Buffer.alloc(9_000, 1);

async function typeOf(content: Buffer, name = 'a'): Promise<string> {
  const mime_type = await sniffMediaType(content.subarray(0, SNIFFED_BYTES));
  const open = (_key: string, { start, end } = { start: 0, end: content.length - 1 }) =>
    Promise.resolve(Readable.from([content.subarray(start, end + 1)], { objectMode: false }));
  const detailsOf = createFileDetails({ objects: { open }, logger: silentLogger });
  const file = await detailsOf({ id: 'a', name, type: attachmentType(mime_type), mime_type, size: content.length });
  expect({ type: file.type, duration: file.duration }).toEqual({ type: 'file', duration: null });
  return file.mime_type;
}

describe('the type of a document', () => {
  it.each([
    ['a spreadsheet of openpyxl', lateSpreadsheet(), SPREADSHEET],
    [
      'a document with its type at the end',
      zip({ 'word/a.bin': BIG, '[Content_Types].xml': contentTypes(DOCUMENT) }),
      DOCUMENT,
    ],
    [
      'a presentation with its type first',
      zip({ '[Content_Types].xml': contentTypes(`${OPEN_XML}.presentationml.presentation`), 'ppt/a.bin': BIG }),
      `${OPEN_XML}.presentationml.presentation`,
    ],
    [
      'a spreadsheet with macros',
      zip({ 'xl/a.bin': BIG, '[Content_Types].xml': contentTypes('application/vnd.ms-excel.sheet.macroEnabled') }),
      'application/vnd.ms-excel.sheet.macroenabled.12',
    ],
    ['a document with types that are not XML', zip({ 'word/a.bin': BIG, '[Content_Types].xml': 'x' }), DOCUMENT],
    [
      'a document with a program in it',
      zip({ 'META-INF/MANIFEST.MF': 'x', 'word/a.bin': BIG, '[Content_Types].xml': contentTypes(DOCUMENT) }),
      DOCUMENT,
    ],
    ['a book', zip({ 'a.bin': BIG, mimetype: 'application/epub+zip' }), 'application/epub+zip'],
    [
      'an OpenDocument table',
      zip({ 'a.bin': BIG, mimetype: 'application/vnd.oasis.opendocument.spreadsheet' }),
      'application/vnd.oasis.opendocument.spreadsheet',
    ],
    ['a program in Java', zip({ 'a.bin': BIG, 'META-INF/MANIFEST.MF': 'x' }), 'application/java-archive'],
    [
      'an app for Android',
      zip({ 'META-INF/MANIFEST.MF': 'x', 'AndroidManifest.xml': 'x', 'classes.dex': 'x' }),
      'application/vnd.android.package-archive',
    ],
    [
      'an archive',
      zip({ 'a.txt': 'a', 'word/a.txt': 'b', 'x/[Content_Types].xml': contentTypes(DOCUMENT) }),
      'application/zip',
    ],
    ['a document of old Word', compoundFile(['WordDocument', '1Table']), 'application/msword'],
    ['such a document with a table in it', compoundFile(['WordDocument'], ['Workbook']), 'application/msword'],
    ['an old spreadsheet', compoundFile(['a', 'b', 'c', 'd', 'e', 'f', 'Workbook']), 'application/vnd.ms-excel'],
    ['an old presentation', compoundFile(['PowerPoint Document']), 'application/vnd.ms-powerpoint'],
    ['another compound file', compoundFile(['Data'], ['WordDocument']), 'application/x-cfb'],
  ])('is that of %s', async (_what, content, type) => {
    expect(await typeOf(content)).toBe(type);
  });

  it.each([
    ['table.XLSX', SPREADSHEET],
    ['text.docx', DOCUMENT],
    ['unknown', 'application/x-cfb'],
  ])('is read from the name if the document is encrypted: %s', async (name, type) => {
    expect(await typeOf(compoundFile(['EncryptionInfo', 'EncryptedPackage']), name)).toBe(type);
  });

  it('does not depend on how far a hostile entry expands', async () => {
    const bomb = zip({ 'a.bin': BIG, '[Content_Types].xml': ' '.repeat(50_000_000) });
    expect(await typeOf(bomb)).toBe('application/zip');
  });

  it('is that of the beginning if the file is cut off or changed, and reading it ends', async () => {
    const files = [lateSpreadsheet(), compoundFile(['WordDocument'], ['Workbook'])];
    const change = fc.record({ at: fc.nat(12_000), byte: fc.oneof(fc.constantFrom(0, 0xff), fc.nat(255)) });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...files),
        fc.array(change, { maxLength: 8 }),
        fc.nat(12_000),
        async (content, changes, cut) => {
          const changed = Buffer.from(content.subarray(0, Math.max(64, content.length - cut)));
          for (const { at, byte } of changes) if (at > 8 && at < changed.length) changed[at] = byte;
          expect(await typeOf(changed)).toMatch(/^application\//);
        },
      ),
      { numRuns: 300 },
    );
  });
});
