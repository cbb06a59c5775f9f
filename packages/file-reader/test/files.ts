import { buffer } from 'node:stream/consumers';
import { CFB, utils, write, type BookType } from '@e965/xlsx';
import { Document, HeadingLevel, Packer, Paragraph, Table, TableCell, TableRow, TextRun } from 'docx';
import { strToU8, zipSync, type Zippable } from 'fflate';
import Pdf from 'pdfkit';
import PptxGen from 'pptxgenjs';
import type { FileSource } from '../src/index.js';

export function file(name: string, bytes: Uint8Array | string, type = 'application/octet-stream'): FileSource {
  const content = typeof bytes === 'string' ? Buffer.from(bytes) : bytes;
  return { name, type, bytes: content, size: content.length };
}

/** @param pages the text of each page; an empty page has a drawing only */
export async function pdf(pages: readonly string[], options: PDFKit.PDFDocumentOptions = {}): Promise<Buffer> {
  const document = new Pdf({ autoFirstPage: false, ...options });
  const bytes = buffer(document);
  for (const text of pages) {
    document.addPage({ size: 'A4', margin: 50 });
    if (text === '') document.rect(100, 100, 200, 200).fill('navy');
    else document.text(text);
  }
  document.end();
  return bytes;
}

/** Check boxes and radio buttons with a state, which pdfkit cannot write. */
function addButtons(document: PDFKit.PDFDocument): void {
  const { page, _root: root } = document as unknown as {
    page: { annotations: unknown[] };
    _root: { data: { AcroForm: { data: { Fields: unknown[] } } } };
  };
  const fields = root.data.AcroForm.data.Fields;
  const look = document.ref({ Type: 'XObject', Subtype: 'Form', BBox: [0, 0, 20, 20] });
  look.end('');
  const button = (x: number, state: string, isChosen: boolean, more: object) => {
    const widget = { Subtype: 'Widget', AS: isChosen ? state : 'Off', AP: { N: { [state]: look, Off: look } } };
    document.annotate(x, 360, 20, 20, { ...widget, ...more } as object);
    return page.annotations.at(-1);
  };
  const checkBox = (name: string) => ({ FT: 'Btn', T: Object(name) as string });
  fields.push(button(50, 'Yes', true, checkBox('vegetarian')), button(80, 'Yes', false, checkBox('smoker')));
  const Kids: unknown[] = [];
  // pdfkit ends a field with children itself.
  const size = document.ref({ FT: 'Btn', Ff: 1 << 15, T: Object('size') as string, V: 'Large', Kids });
  Kids.push(button(110, 'Small', false, { Parent: size }), button(140, 'Large', true, { Parent: size }));
  fields.push(size);
}

/** A filled form, with this text beside it. */
export async function pdfForm(text: string): Promise<Buffer> {
  const document = new Pdf({ size: 'A4' });
  const bytes = buffer(document);
  document.font('Helvetica').initForm();
  if (text !== '') document.text(text);
  document.formText('name', 50, 100, 200, 20, { value: 'Zoë Müller' });
  document.formText('note', 50, 130, 200, 60, { multiline: true, value: 'First line\nSecond line' });
  document.formText('phone', 50, 200, 200, 20);
  document.formText('pin', 50, 230, 200, 20, { password: true, value: '4711' });
  document.formCombo('city', 50, 260, 200, 20, { select: ['Berlin', 'Rome'], value: 'Rome' });
  document.formList('days', 50, 290, 200, 60, { select: ['Monday', 'Tuesday'], value: 'Tuesday' });
  addButtons(document);
  document.formPushButton('send', 50, 390, 100, 20, { label: 'Send' });
  document.end();
  return bytes;
}

export async function docx(): Promise<Buffer> {
  const row = (...cells: string[]) =>
    new TableRow({ children: cells.map((text) => new TableCell({ children: [new Paragraph(text)] })) });
  const document = new Document({
    sections: [
      {
        children: [
          new Paragraph({ text: 'Budget', heading: HeadingLevel.HEADING_1 }),
          new Paragraph({ children: [new TextRun('The budget is '), new TextRun({ text: 'approved', bold: true })] }),
          new Table({ rows: [row('Item', 'Price'), row('Desk', '€ 300')] }),
          new Paragraph({ text: 'Schedule', heading: HeadingLevel.HEADING_1 }),
          new Paragraph('We start in May.'),
        ],
      },
    ],
  });
  return Packer.toBuffer(document);
}

export async function pptx(): Promise<Buffer> {
  // Its types do not know that this is an ES module.
  const deck = new (PptxGen as unknown as typeof PptxGen.default)();
  const first = deck.addSlide();
  first.addText('Quarterly results', { x: 1, y: 1, w: 5, h: 1 });
  first.addNotes('Mention the new office.');
  const second = deck.addSlide();
  second.addTable([
    [{ text: 'Region' }, { text: 'Sales' }],
    [{ text: 'North' }, { text: '12' }],
  ]);
  return (await deck.write({ outputType: 'nodebuffer' })) as Buffer;
}

export function workbook(type: BookType): Buffer {
  const costs = utils.aoa_to_sheet([
    ['Item', 'Price', 'Bought'],
    [
      'Desk, oak',
      300.5, // SheetJS cannot write this format to .ods files.
      type === 'ods' ? '2026-05-01' : { t: 'n', v: 46_143, z: 'yyyy-mm-dd' },
    ],
    [],
    ['Total', { t: 'n', v: 300.5, f: 'SUM(B2:B3)', z: '0.00' }, true],
  ]);
  const book = utils.book_new();
  utils.book_append_sheet(book, costs, 'Costs');
  utils.book_append_sheet(book, utils.aoa_to_sheet([['Note'], ['second sheet']]), 'Notes');
  return write(book, { type: 'buffer', bookType: type }) as Buffer;
}

export function largeSheet(rows: number): Buffer {
  const cells = Array.from({ length: rows }, (_, index) => [index + 1, `Customer ${index}`, index * 1.5, 'paid']);
  const book = utils.book_new();
  utils.book_append_sheet(book, utils.aoa_to_sheet(cells), 'Data');
  return write(book, { type: 'buffer', bookType: 'xlsx', compression: true }) as Buffer;
}

/** Office wraps an encrypted file into a compound file. */
export function encryptedOffice(): Buffer {
  const container = CFB.utils.cfb_new();
  CFB.utils.cfb_add(container, '/EncryptionInfo', Buffer.alloc(64, 1));
  CFB.utils.cfb_add(container, '/EncryptedPackage', Buffer.alloc(6000, 7));
  return Buffer.from(CFB.write(container, { type: 'buffer' }) as Uint8Array);
}

export function compound(...entries: string[]): Buffer {
  const container = CFB.utils.cfb_new();
  for (const entry of entries) CFB.utils.cfb_add(container, `/${entry}`, Buffer.alloc(6000, 7));
  return Buffer.from(CFB.write(container, { type: 'buffer' }) as Uint8Array);
}

export function zip(entries: Record<string, string | Uint8Array>, level: 0 | 6 = 6): Buffer {
  const files: Zippable = {};
  for (const [name, content] of Object.entries(entries))
    files[name] = typeof content === 'string' ? strToU8(content) : content;
  return Buffer.from(zipSync(files, { level }));
}

/** With the flag of encryption on each entry; the content is not encrypted, which no reader can know. */
export function encryptedZip(): Buffer {
  const bytes = zip({ 'word/document.xml': '<a/>', 'secret.txt': 'x' });
  for (let at = 0; at < bytes.length - 10; at += 1) {
    const signature = bytes.readUInt32LE(at);
    if (signature === 0x04034b50) bytes.writeUInt8(1, at + 6);
    if (signature === 0x02014b50) bytes.writeUInt8(1, at + 8);
  }
  return bytes;
}

const OPEN = [
  'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"',
  'xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"',
  'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"',
  'xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"',
].join(' ');

export function openDocument(kind: 'text' | 'presentation', body: string, head = ''): Buffer {
  return zip({
    mimetype: `application/vnd.oasis.opendocument.${kind}`,
    'META-INF/manifest.xml': '<manifest/>',
    'content.xml': `<?xml version="1.0"?>${head}<office:document-content ${OPEN}><office:body>${body}</office:body></office:document-content>`,
  });
}

export function epub(chapters: Record<string, string>): Buffer {
  const names = Object.keys(chapters).map((_, index) => `c${index}.xhtml`);
  const items = names.map((name) => `<item id="${name}" href="${name}"/>`).join('');
  const spine = names.map((name) => `<itemref idref="${name}"/>`).join('');
  const pages = Object.entries(chapters).map(([title, text], index) => [
    `OEBPS/c${index}.xhtml`,
    `<html><head><title>x</title></head><body><h1>${title}</h1><p>${text}</p></body></html>`,
  ]);
  return zip({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="OEBPS/p.opf"/></rootfiles></container>',
    'OEBPS/p.opf': `<package xmlns:dc="d"><metadata><dc:title>A book</dc:title></metadata><manifest>${items}</manifest><spine>${spine}</spine></package>`,
    ...Object.fromEntries(pages),
  });
}

/** @param depth mails in the mail */
export function mail(depth = 0): string {
  const head = `From: Ann <ann@example.com>\r\nTo: bob@example.com\r\nSubject: =?utf-8?Q?Gr=C3=BC=C3=9Fe?= ${depth}\r\nMIME-Version: 1.0\r\n`;
  const text =
    'Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nSch=F6n\r\n';
  const note =
    'Content-Type: text/csv; name="a.csv"\r\nContent-Disposition: attachment; filename="a.csv"\r\n\r\n1,2\r\n';
  const inner = depth > 0 ? `--b${depth}\r\nContent-Type: message/rfc822\r\n\r\n${mail(depth - 1)}\r\n` : '';
  return `${head}Content-Type: multipart/mixed; boundary="b${depth}"\r\n\r\n--b${depth}\r\n${text}--b${depth}\r\n${note}${inner}--b${depth}--\r\n`;
}
