import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MagickFormat } from '@imagemagick/magick-wasm';
import { createTar } from 'nanotar';
import { docx, epub, file, largeSheet, mail, openDocument, pdf, pdfForm, pptx, workbook, zip } from '../test/files.js';
import { animation, colorAt, picture, startEncoder } from '../test/pictures.js';
import { buildProgram } from '../test/program.js';
import { createFileReader, type FileReader, type FileSource, isProblem, type FileText, type Picture } from './index.js';

const fixture = (name: string) => readFileSync(new URL(`../test/fixtures/${name}`, import.meta.url));
const { signal } = new AbortController();

let reader: FileReader;
let cleanUp: () => void;

beforeAll(async () => {
  const { program, remove } = await buildProgram();
  cleanUp = remove;
  // A test machine may be slow.
  reader = createFileReader({ program, processes: 2, limits: { timeMs: 120_000, longTimeMs: 120_000 } });
});

afterAll(async () => {
  await reader.close();
  cleanUp();
});

async function textOf(source: FileSource): Promise<FileText> {
  const text = await reader.text(source, signal);
  if (isProblem(text)) throw new Error(text.message);
  return text;
}

describe('text of documents', () => {
  it('reads a PDF page by page and tells which pages have no text', async () => {
    const bytes = await pdf(['First page', '', 'Dritte Seite: Größe €'], { info: { Title: 'Three pages' } });
    expect(await textOf(file('a.pdf', bytes))).toEqual({
      kind: 'pages',
      title: 'Three pages',
      parts: [
        { label: 'Page 1', text: expect.stringContaining('First page') },
        { label: 'Page 2', text: '' },
        { label: 'Page 3', text: expect.stringContaining('Dritte Seite: Größe €') },
      ],
      total: 3,
      truncated: false,
      scanned: [2],
      notes: [],
    });
  });

  it('reads the values of a PDF form after the text of their page', async () => {
    const text = await textOf(file('a.pdf', await pdfForm('Registration')));
    expect({ scanned: text.scanned, lines: text.parts[0]?.text.split('\n') }).toEqual({
      scanned: [],
      lines: [
        'Registration',
        '',
        'Form fields:',
        'name: Zoë Müller',
        'note: First line',
        'Second line',
        'phone: (empty)',
        'pin: (password)',
        'city: Rome',
        'days: Tuesday',
        'vegetarian: checked',
        'smoker: not checked',
        'size: Large',
      ],
    });
  });

  it('reads the values of a form on a page that has no other text, and still shows the page', async () => {
    const text = await textOf(file('a.pdf', await pdfForm('')));
    expect({ scanned: text.scanned, text: text.parts[0]?.text }).toEqual({
      scanned: [1],
      text: expect.stringMatching(/^Form fields:\nname: Zoë Müller\n/),
    });
  });

  it('reads a PDF that is named like a Word document', async () => {
    expect(await textOf(file('a.docx', await pdf(['Really a PDF'])))).toMatchObject({ kind: 'pages', total: 1 });
  });

  it('reads a Word document in sections by its headings', async () => {
    const text = await textOf(file('a.docx', await docx()));
    expect(text.parts.map(({ label }) => label)).toEqual(['Budget', 'Schedule']);
    expect(text.parts[0]?.text).toMatch(/The budget is approved[\s\S]*Desk +€ 300/);
  });

  it('reads slides with tables and notes', async () => {
    const text = await textOf(file('a.pptx', await pptx()));
    expect(text).toMatchObject({
      kind: 'slides',
      total: 2,
      parts: [
        { label: 'Slide 1', text: 'Quarterly results\nNotes: Mention the new office.' },
        { label: 'Slide 2', text: 'Region | Sales\nNorth | 12' },
      ],
    });
  });

  it.each(['xlsx', 'xlsb', 'ods', 'biff8'] as const)('reads sheets of a workbook in the format %s', async (type) => {
    const text = await textOf(file(`a.${type === 'biff8' ? 'xls' : type}`, workbook(type)));
    expect(text).toMatchObject({ kind: 'rows', total: 5, truncated: false });
    expect(text.parts[0]?.label).toBe('Sheet "Costs"');
    expect(text.parts[0]?.text.split('\n')).toEqual([
      '1\tItem,Price,Bought',
      '2\t"Desk, oak",300.5,2026-05-01',
      expect.stringMatching(/^4\tTotal,300\.50?,TRUE$/),
    ]);
    expect(text.parts[1]).toEqual({ label: 'Sheet "Notes"', text: '1\tNote\n2\tsecond sheet' });
  });

  it('reads an OpenDocument text without comments, in sections', async () => {
    const body =
      '<office:text><text:p>Intro</text:p><text:h text:outline-level="1">One</text:h><text:p>a<text:s/>b' +
      '<office:annotation><text:p>secret</text:p></office:annotation></text:p><table:table><table:table-row>' +
      '<table:table-cell><text:p>x</text:p></table:table-cell><table:table-cell><text:p>y</text:p></table:table-cell>' +
      '</table:table-row></table:table></office:text>';
    expect((await textOf(file('a.odt', openDocument('text', body)))).parts).toEqual([
      { label: '', text: 'Intro' },
      { label: 'One', text: 'One\na b\nx | y' },
    ]);
  });

  it('reads slides of OpenDocument', async () => {
    const page = (text: string) => `<draw:page><text:p>${text}</text:p></draw:page>`;
    const body = `<office:presentation>${page('One')}${page('Two')}</office:presentation>`;
    expect((await textOf(file('a.odp', openDocument('presentation', body)))).parts).toEqual([
      { label: 'Slide 1', text: 'One' },
      { label: 'Slide 2', text: 'Two' },
    ]);
  });

  it('reads chapters of a book', async () => {
    expect(await textOf(file('a.epub', epub({ 'The start': 'Once upon a time', 'The end': 'Happily' })))).toMatchObject(
      {
        kind: 'sections',
        title: 'A book',
        parts: [
          { label: 'The start', text: expect.stringContaining('Once upon a time') },
          { label: 'The end', text: expect.stringContaining('Happily') },
        ],
      },
    );
  });

  it('reads a mail with headers, text and the list of its attachments', async () => {
    const { title, parts } = await textOf(file('a.eml', mail()));
    expect(title).toBe('Grüße 0');
    expect(parts).toHaveLength(1);
    expect(parts[0]?.text).toMatch(
      /^From: Ann <ann@example.com>\nTo: bob@example.com\nSubject: Grüße 0\n\nSchön\n\nAttachments:\n- a.csv \(text\/csv, \d+ bytes\)$/,
    );
  });

  it('reads rich text', async () => {
    const rtf = String.raw`{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}\f0 Gr\'fc\'dfe \u8364?\par {\b Second} line\par}`;
    expect((await textOf(file('a.rtf', rtf))).parts[0]?.text).toBe('Grüße €\nSecond line');
  });
});

describe('text of plain files', () => {
  it.each([
    ['a.csv', 'name,city\n"Ann, B",Oslo\n'],
    ['a.csv', 'name;city\nAnn, B;Oslo\n'],
    ['a.tsv', 'name\tcity\nAnn, B\tOslo\n'],
  ])('detects the delimiter of %s: %j', async (name, content) => {
    expect(await textOf(file(name, content))).toMatchObject({
      kind: 'rows',
      total: 2,
      parts: [{ label: '', text: '1\tname,city\n2\t"Ann, B",Oslo' }],
    });
  });

  it('reads the text of a page without scripts', async () => {
    const html = '<!doctype html><title>T &amp; U</title><script>evil()</script><h1>Hi</h1><p>One<p>Two';
    expect(await textOf(file('a.txt', html))).toMatchObject({
      kind: 'text',
      title: 'T & U',
      parts: [{ label: '', text: expect.stringMatching(/^Hi\s+One\s+Two$/) }],
    });
  });

  it.each(['a.json', 'a.xml', 'a.md', 'a.py', 'a.svg', 'Makefile'])('reads %s as it is', async (name) => {
    const content = '<svg xmlns="http://www.w3.org/2000/svg">\r\n{"a": [1]}</svg>';
    expect((await textOf(file(name, content))).parts).toEqual([{ label: '', text: content.replace('\r', '') }]);
  });

  it('lists a ZIP archive and does not unpack it', async () => {
    const inner = zip({ 'deep.txt': 'x' });
    const text = await textOf(file('a.zip', zip({ 'a.txt': 'hello', '../evil\nname': '', 'inner.zip': inner })));
    expect(text).toMatchObject({ kind: 'listing', total: 3 });
    expect(text.parts[0]?.text.split('\n')).toEqual(['5\ta.txt', '0\t../evil◙name', `${inner.length}\tinner.zip`]);
  });

  it('lists a tar archive, compressed or not', async () => {
    const tar = createTar([
      { name: 'a.txt', data: 'hello' },
      { name: 'b/c.txt', data: 'x' },
    ]);
    for (const source of [file('a.tar', tar), file('a.tgz', gzipSync(tar))])
      expect(await textOf(source)).toMatchObject({
        kind: 'listing',
        total: 2,
        parts: [{ text: '5\ta.txt\n1\tb/c.txt' }],
      });
  });

  it('reads a stream, and only its bytes', async () => {
    const bytes = Buffer.from('streamed text '.repeat(20_000));
    async function* chunks() {
      for (let start = 0; start < bytes.length; start += 70_000) yield bytes.subarray(start, start + 70_000);
    }
    const text = await textOf({ name: 'a.txt', type: 'text/plain', bytes: chunks(), size: bytes.length });
    expect(text.parts[0]?.text).toBe(bytes.toString());
  });
});

describe('pictures', () => {
  beforeAll(startEncoder);

  const metadata = /exif|iphone|apple|gps|ns\.adobe\.com/i;

  const pictureOf = async (source: FileSource): Promise<Picture> => {
    const result = await reader.picture(source, signal);
    if (isProblem(result)) throw new Error(result.message);
    return result;
  };

  it.each(['phone.heic', 'phone.jpg'])('turns %s upright and removes its metadata', async (name) => {
    const bytes = fixture(name);
    expect(bytes.toString('latin1')).toMatch(metadata);
    const result = await pictureOf(file(name, bytes));
    expect(result).toMatchObject({ type: 'image/jpeg', width: 600, height: 800 });
    expect(Buffer.from(result.bytes).toString('latin1')).not.toMatch(metadata);
  });

  it('puts the upper left corner of a turned photo to the upper right', async () => {
    const { bytes } = await pictureOf(file('phone.jpg', fixture('phone.jpg')));
    expect(colorAt(bytes, 590, 10)).toMatch(/^#d[a-f][12].[12]/);
    expect(colorAt(bytes, 10, 10)).toMatch(/^#5.[89].c/);
  });

  it('decodes AVIF', async () => {
    expect(await pictureOf(file('a.avif', fixture('phone.avif')))).toMatchObject({ type: 'image/jpeg' });
  });

  it.each([
    ['png', MagickFormat.Png],
    ['webp', MagickFormat.WebP],
    ['bmp', MagickFormat.Bmp],
    ['tiff', MagickFormat.Tiff],
    ['gif', MagickFormat.Gif],
  ])('keeps a drawing in the format %s sharp', async (name, format) => {
    const result = await pictureOf(file(`a.${name}`, picture(format)));
    expect(result).toMatchObject({ type: 'image/png', width: 300, height: 200 });
    expect(colorAt(result.bytes, 5, 5)).toEqual(expect.stringMatching(/^#f[df]a[56]0[0-2]ff$/));
  });

  it('keeps transparency', async () => {
    const result = await pictureOf(file('a.png', picture(MagickFormat.Png, { color: '#ff000080' })));
    expect(result.type).toBe('image/png');
    expect(colorAt(result.bytes, 5, 5)).toBe('#ff000080');
  });

  it('shows the first frame of an animation', async () => {
    const { bytes, width } = await pictureOf(file('a.gif', animation()));
    expect({ width, color: colorAt(bytes, 5, 5) }).toEqual({ width: 20, color: '#ff0000ff' });
  });

  it('makes a large photo small', async () => {
    const photo = picture(MagickFormat.Jpeg, { width: 2_400, height: 1_800, noise: true });
    const result = await pictureOf(file('a.jpg', photo));
    expect(result).toMatchObject({ type: 'image/jpeg', width: 1_568, height: 1_176 });
    expect(result.bytes.length).toBeLessThan(1_500_000);
  });

  it('makes a long picture at least one pixel wide', async () => {
    const result = await pictureOf(file('a.png', picture(MagickFormat.Png, { width: 5_000, height: 1 })));
    expect(result).toMatchObject({ width: 1_568, height: 1 });
  });

  it('shows pages of a PDF in the order asked for', async () => {
    const bytes = await pdf(['One', '', 'Three']);
    const pages = await reader.pages(file('a.pdf', bytes), [3, 1, 99], signal);
    expect(pages).toEqual([
      { page: 3, type: 'image/png', width: 1109, height: 1568, bytes: expect.any(Uint8Array) },
      { page: 1, type: 'image/png', width: 1109, height: 1568, bytes: expect.any(Uint8Array) },
    ]);
  });
});

describe('large files', () => {
  it('reads the first pages of a PDF and tells how many there are', async () => {
    const text = await textOf(file('a.pdf', await pdf(Array.from({ length: 2_100 }, () => 'x'))));
    expect({ ...text, parts: text.parts.length }).toMatchObject({ parts: 2_000, total: 2_100, truncated: true });
  });

  it('counts all rows of a sheet, also those that its limit leaves out', async () => {
    const { program, remove } = await buildProgram();
    const small = createFileReader({ program, limits: { characters: 1_000, timeMs: 120_000 } });
    const text = await small.text(file('a.xlsx', largeSheet(5_000)), signal);
    await small.close();
    remove();
    expect(text).toMatchObject({ kind: 'rows', total: 5_000, truncated: true });
  });
});

describe('encodings', () => {
  it('reads a text that is not in UTF-8', async () => {
    const bytes = Buffer.from('Die Größe der Straße in München läßt für Fußgänger keine Wünsche übrig.', 'latin1');
    expect((await textOf(file('a.txt', bytes))).parts[0]?.text).toBe(bytes.toString('latin1'));
  });
});
