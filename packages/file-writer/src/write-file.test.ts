import { describe, expect, it } from '@jest/globals';
import { strFromU8, unzipSync } from 'fflate';
import { getDocument } from 'pdfjs-dist/legacy/build/pdf.mjs';
import { FileNotWritten, fileName, type FileType } from './file-types.js';
import { writeDocument } from './write-document.js';
import { writeText } from './write-text.js';

const DOCUMENT = `# Tea – Чай – Τσάι

A **bold**, *slanted* and ~~struck~~ text with \`code\`, [a link](https://example.com/tea) and [a script](javascript:alert(1)).

1. first
   - inside
2. second

- [x] done

> A quote

\`\`\`
  const a = 1;
\`\`\`

| Name | Price |
|------|------:|
| =cmd\\|' /C calc'!A0 | 12.50 |

<!-- pagebreak -->

## The second page
`;

const write = async (type: 'docx' | 'xlsx' | 'pdf', content: string) => writeDocument({ type, name: 'Tea', content });
const textOf = (type: 'text' | 'csv' | 'markdown' | 'html', content: string): string =>
  Buffer.from(writeText({ type, name: 'Tea', content }).bytes).toString();

async function partsOf(type: 'docx' | 'xlsx', content: string): Promise<Record<string, string>> {
  const { bytes } = await write(type, content);
  return Object.fromEntries(Object.entries(unzipSync(bytes)).map(([name, part]) => [name, strFromU8(part)]));
}

interface Page {
  text: string;
  links: string[];
}

async function pagesOf(content: string): Promise<Page[]> {
  const { bytes } = await write('pdf', content);
  const task = getDocument({ data: new Uint8Array(bytes), verbosity: 0 });
  const document = await task.promise;
  const pages: Page[] = [];
  for (let number = 1; number <= document.numPages; number += 1) {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    const notes = (await page.getAnnotations()) as { url?: string }[];
    const text = items.map((item) => ('str' in item ? item.str : '')).join('');
    pages.push({ text, links: notes.flatMap(({ url }) => url ?? []) });
  }
  await task.destroy();
  return pages;
}

const refusal = async (type: 'docx' | 'xlsx' | 'pdf', content: string): Promise<string> => {
  const error: unknown = await write(type, content).catch((thrown: unknown) => thrown);
  return error instanceof FileNotWritten ? `${error.reason}: ${error.message}` : 'no refusal';
};

describe('a Word document', () => {
  it('has what its Markdown has', async () => {
    const { 'word/document.xml': text = '', 'word/_rels/document.xml.rels': links } = await partsOf('docx', DOCUMENT);
    for (const part of ['Tea – Чай – Τσάι', 'slanted', 'inside', '☑ ', 'A quote', '  const a = 1;', '12.50'])
      expect(text).toContain(`>${part}<`);
    expect(text).toMatch(/w:val="Heading1".*w:val="Heading2"/s);
    expect(text).toMatch(/<w:b\/>.*>bold</);
    expect(text).toContain('<w:br w:type="page"/>');
    expect(text).toContain('<w:tblHeader/>');
    expect(links).toContain('Target="https://example.com/tea"');
    expect(links).not.toContain('javascript:');
  });

  it('keeps text that looks like XML', async () => {
    const { 'word/document.xml': text } = await partsOf('docx', 'a \\<b> & c');
    expect(text).toContain('a &lt;b&gt; &amp; c');
  });
});

describe('a PDF document', () => {
  it('has what its Markdown has, on two pages', async () => {
    const [first, second, ...others] = await pagesOf(DOCUMENT);
    for (const part of ['Tea – Чай – Τσάι', 'slanted', 'inside', '☑', 'A quote', 'const a = 1;', '12.50', '1 / 2'])
      expect(first?.text).toContain(part);
    expect(new Set(first?.links)).toEqual(new Set(['https://example.com/tea']));
    expect(second?.text).toContain('The second page');
    expect(others).toEqual([]);
  });

  it('keeps a wide table and a long word on the page', async () => {
    const row = `|${Array.from({ length: 24 }, (_, index) => `column${index}`).join('|')}|`;
    const content = `${row}\n|${'-|'.repeat(24)}\n${row}\n\n${'x'.repeat(500)}`;
    const { bytes } = await write('pdf', content);
    const task = getDocument({ data: new Uint8Array(bytes), verbosity: 0 });
    const document = await task.promise;
    const page = await document.getPage(1);
    const { width } = page.getViewport({ scale: 1 });
    const { items } = await page.getTextContent();
    const ends = items.map((item) => ('str' in item ? Number(item.transform[4]) + item.width : 0));
    await task.destroy();
    expect(Math.max(...ends)).toBeLessThan(width);
  });

  it('tells what its fonts cannot show', async () => {
    const { notes } = await write('pdf', `${'The word for tea is short. '.repeat(3)}茶 🍵`);
    expect(notes).toEqual([
      'Characters that its fonts lack are question marks, for example “茶”.',
      'Emoji are left out.',
    ]);
  });

  it('is refused if its fonts can hardly show anything', async () => {
    expect(await refusal('pdf', '日本語の文書')).toMatch(
      /^content: A PDF cannot show most of this text, for example “日本語の文書”/,
    );
    expect(await refusal('pdf', 'שלום')).toMatch(/^content: /);
  });

  it('is refused with a table that is too wide', async () => {
    expect(await refusal('pdf', `|${'a|'.repeat(25)}\n|${'-|'.repeat(25)}`)).toMatch(/^content: .* at most 24 columns/);
  });
});

describe('an Excel workbook', () => {
  const sheetOf = async (content: string, number = 1) =>
    (await partsOf('xlsx', content))[`xl/worksheets/sheet${number}.xml`] ?? '';
  const stringsOf = async (content: string) => (await partsOf('xlsx', content))['xl/sharedStrings.xml'] ?? '';

  it('has a sheet per Markdown table, named by its heading', async () => {
    const table = '|a|b|\n|-|-|\n|1|x|\n\n';
    const { 'xl/workbook.xml': book, ...parts } = await partsOf(
      'xlsx',
      `# Prices: [2026]\n${table}${table}# Costs\n${table}`,
    );
    expect([...(book ?? '').matchAll(/<sheet [^>]*?\bname="([^"]*)"/g)].map(([, name]) => name)).toEqual([
      'Prices   2026',
      'Prices   2026 2',
      'Costs',
    ]);
    expect(Object.keys(parts).filter((name) => name.includes('worksheets/sheet'))).toHaveLength(3);
  });

  it('has a sheet per part of CSV, named by the line before it', async () => {
    const { 'xl/workbook.xml': book } = await partsOf('xlsx', '# Tea\na;b\n1;2\n\n# Milk\na;b\n3;4\n');
    expect([...(book ?? '').matchAll(/<sheet [^>]*?\bname="([^"]*)"/g)].map(([, name]) => name)).toEqual([
      'Tea',
      'Milk',
    ]);
  });

  it('has numbers and days as such, and everything else as text', async () => {
    const content =
      'what,value\nnumber,-12.5\npercent,7.5%\nday,2026-02-03\nno day,2026-02-31\nzeros,007\nlong,1234567890123456';
    const sheet = await sheetOf(content);
    for (const value of ['-12.5', '0.075', '46056']) expect(sheet).toContain(`<v>${value}</v>`);
    const strings = await stringsOf(content);
    for (const value of ['2026-02-31', '007', '1234567890123456']) expect(strings).toContain(`>${value}<`);
  });

  it.each(["=cmd|' /C calc'!A0", '=1+1', '+1+cmd', '-1+cmd', '@SUM(1)', '=HYPERLINK("https://example.com")'])(
    'has %s as text',
    async (formula) => {
      const content = `a,b\n"${formula.replaceAll('"', '""')}",x`;
      expect(await sheetOf(content)).not.toContain('<f>');
      expect(await stringsOf(content)).toContain(
        formula.replaceAll("'", '&apos;').replaceAll('"', '&quot;').slice(0, 4),
      );
    },
  );

  it('is refused without a table', async () => {
    expect(await refusal('xlsx', '')).toBe('content: There is no table. Write CSV, or Markdown tables.');
    expect(await refusal('xlsx', ','.repeat(2_000))).toMatch(/^content: /);
  });
});

describe('a CSV file', () => {
  it.each([
    ["=cmd|' /C calc'!A0", `"'=cmd|' /C calc'!A0"`],
    ['@SUM(1)', `"'@SUM(1)"`],
    ['+1+cmd', `"'+1+cmd"`],
    ['-2+3*cmd', `"'-2+3*cmd"`],
    ['-12.5', '-12.5'],
    ['+49 (0)30 123-45', '+49 (0)30 123-45'],
    ['-', '-'],
    ['tea', 'tea'],
  ])('has the cell %s as %s', (cell, written) => {
    expect(textOf('csv', `a;b\n${cell};x`)).toBe(`a,b\r\n${written},x\r\n`);
  });

  it('begins with a mark for Excel if it has letters beyond ASCII', () => {
    expect(textOf('csv', 'ä,b')).toBe('\uFEFFä,b\r\n');
  });
});

describe('an HTML file', () => {
  it('has a policy against scripts and requests before everything else', () => {
    const html = textOf(
      'html',
      '<!-- x --><!DOCTYPE html><html lang="en"><head><script src="//evil.example"></script>',
    );
    expect(html).toMatch(
      /^<!doctype html>\n<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="default-src 'none'/,
    );
    expect(textOf('html', '<!DOCTYPE html>\n<p>hi').match(/doctype/gi)).toHaveLength(1);
  });
});

describe('a file', () => {
  it.each(['docx', 'xlsx', 'pdf'] as const)('has the same bytes each time: %s', async (type) => {
    const [first, second] = [await write(type, DOCUMENT), await write(type, DOCUMENT)];
    expect(Buffer.from(first.bytes).equals(second.bytes)).toBe(true);
  });

  it.each<[string, FileType, string]>([
    ['Tea', 'pdf', 'Tea.pdf'],
    ['Tea.md', 'docx', 'Tea.docx'],
    ['Tea.PDF', 'pdf', 'Tea.pdf'],
    ['v1.2', 'text', 'v1.2.txt'],
  ])('has a name with its ending: %s as %s is %s', (name, type, expected) => {
    expect(fileName(name, type)).toBe(expected);
  });

  it('keeps text and Markdown unchanged', () => {
    expect(textOf('markdown', '# =1')).toBe('# =1');
    expect(textOf('text', 'ä')).toBe('ä');
  });
});
