import pdfmake, { type Content, type CustomTableLayout } from 'pdfmake';
import { FileNotWritten } from './file-types.js';
import { type Coverage, createCoverage, type FontName, readFont } from './fonts.js';
import { type Block, blocksOf, type Item, plainText, type Span, type TableBlock } from './markdown.js';

type ContentText = Extract<Content, { text: unknown }>;

const SIZES = [20, 16, 13.5, 12, 11, 10.5];
const TEXT_SIZE = 10.5;
const PALE = '#f3f4f6';
const LINE = '#bfc4cc';
const MARGIN = 50;
/** Of A4, in points. */
const [SHORT_SIDE, LONG_SIDE] = [595.28, 841.89];
/** A table with more columns needs a page on its side. */
const UPRIGHT_COLUMNS = 7;
const MAX_COLUMNS = 24;
const INDENT = 14;

interface Page {
  coverage: Coverage;
  /** Width for text, in points. */
  width: number;
}

/** Writes a PDF document from Markdown, on A4. */
export async function writePdf(title: string, content: string): Promise<{ bytes: Uint8Array; notes: string[] }> {
  const files = {
    normal: readFont('normal'),
    bold: readFont('bold'),
    italic: readFont('italic'),
    monospaced: readFont('monospaced'),
  };
  const coverage = createCoverage(files);
  const blocks = blocksOf(content);
  const columns = mostColumns(blocks);
  if (columns > MAX_COLUMNS)
    throw new FileNotWritten(
      'content',
      `A table in a PDF has at most ${MAX_COLUMNS} columns. Write it with type xlsx, or split it.`,
    );
  const isUpright = columns <= UPRIGHT_COLUMNS;
  const page = { coverage, width: (isUpright ? SHORT_SIDE : LONG_SIDE) - 2 * MARGIN };
  const body = blocks.flatMap((block) => rendered(block, page));
  const { missing, dropped, isUnreadable } = coverage.report();
  if (isUnreadable)
    throw new FileNotWritten(
      'content',
      `A PDF cannot show most of this text, for example “${missing.join('')}”: its fonts have Latin, Greek, Cyrillic, Armenian and Georgian letters. Write it with type docx.`,
    );
  const bytes = await printed({ title, body, isUpright, files });
  return {
    bytes,
    notes: [
      ...(missing.length === 0
        ? []
        : [`Characters that its fonts lack are question marks, for example “${missing.join('')}”.`]),
      ...(dropped ? ['Emoji are left out.'] : []),
    ],
  };
}

function mostColumns(blocks: readonly Block[]): number {
  return blocks.reduce((most, block) => {
    if (block.kind === 'table') return Math.max(most, block.align.length);
    if (block.kind === 'quote') return Math.max(most, mostColumns(block.blocks));
    if (block.kind === 'list') return Math.max(most, ...block.items.map((item) => mostColumns(item.blocks)));
    return most;
  }, 0);
}

interface Printed {
  title: string;
  body: Content[];
  isUpright: boolean;
  files: Record<FontName, Buffer>;
}

async function printed({ title, body, isUpright, files }: Printed): Promise<Uint8Array> {
  pdfmake.setUrlAccessPolicy(() => false);
  // The fonts are in memory.
  pdfmake.setLocalAccessPolicy(() => false);
  const fonts = new Map<string, Buffer>(Object.entries(files));
  // Its own one needs a folder, which a bundle has not.
  const virtualfs = { existsSync: (name: string) => fonts.has(name), readFileSync: (name: string) => fonts.get(name) };
  Object.assign(pdfmake, { virtualfs });
  pdfmake.setFonts({
    text: { normal: 'normal', bold: 'bold', italics: 'italic', bolditalics: 'bold' },
    code: { normal: 'monospaced', bold: 'monospaced', italics: 'monospaced', bolditalics: 'monospaced' },
  });
  const definition: Parameters<typeof pdfmake.createPdf>[0] = {
    pageSize: 'A4',
    pageOrientation: isUpright ? 'portrait' : 'landscape',
    pageMargins: MARGIN,
    // pdfkit makes the file id from these details. The time is hidden below.
    info: { title, creator: 'uswarm', producer: 'uswarm', creationDate: new Date(0) },
    defaultStyle: { font: 'text', fontSize: TEXT_SIZE, lineHeight: 1.2 },
    content: body,
    footer: (current, count) => ({
      text: count === 1 ? '' : `${current} / ${count}`,
      alignment: 'center',
      fontSize: 8,
      color: '#666666',
      margin: [0, 16, 0, 0],
    }),
    // A heading stays with what follows.
    pageBreakBefore: (node, nodes) =>
      node.headlineLevel !== undefined &&
      nodes.getFollowingNodesOnPage().length === 0 &&
      nodes.getPreviousNodesOnPage().length > 0,
  };
  const document = (await pdfmake.createPdf(definition).getStream()) as unknown as PdfDocument;
  Object.defineProperty(document.info, 'CreationDate', { enumerable: false });
  const chunks: Buffer[] = [];
  document.on('data', (chunk) => chunks.push(chunk));
  const ended = new Promise<void>((resolve, reject) => {
    document.on('end', resolve);
    document.on('error', reject);
  });
  document.end();
  await ended;
  return Buffer.concat(chunks);
}

/** Of pdfkit. */
interface PdfDocument {
  info: object;
  on(event: 'data', listener: (chunk: Buffer) => void): void;
  on(event: 'end', listener: () => void): void;
  on(event: 'error', listener: (error: Error) => void): void;
  end(): void;
}

function rendered(block: Block, page: Page): Content[] {
  switch (block.kind) {
    case 'heading':
      return [
        {
          text: runsOf(
            block.spans.map((span) => ({ ...span, bold: true })),
            page,
          ),
          fontSize: SIZES[block.level - 1] ?? TEXT_SIZE,
          headlineLevel: block.level,
          margin: [0, block.level < 3 ? 12 : 8, 0, 5],
        },
      ];
    case 'paragraph':
      return [{ text: runsOf(block.spans, page), margin: [0, 0, 0, 7] }];
    case 'code':
      return [codeOf(block.lines, page)];
    case 'quote': {
      const inner = { ...page, width: page.width - INDENT };
      const stack = block.blocks.flatMap((each) => rendered(each, inner));
      return [
        {
          table: { widths: [page.width - INDENT], body: [[{ stack, color: '#444444' }]] },
          layout: QUOTE,
          margin: [0, 2, 0, 7],
        },
      ];
    }
    case 'list': {
      const items = block.items.map((item) => itemOf(item, { ...page, width: page.width - INDENT }));
      const margin: [number, number, number, number] = [0, 0, 0, 7];
      return [block.start === undefined ? { ul: items, margin } : { ol: items, start: block.start, margin }];
    }
    case 'rule':
      return [
        {
          canvas: [{ type: 'line', x1: 0, y1: 0, x2: page.width, y2: 0, lineWidth: 0.7, lineColor: LINE }],
          margin: [0, 6, 0, 10],
        },
      ];
    case 'page-break':
      return [{ text: '', pageBreak: 'after' }];
    case 'table':
      return [tableOf(block, page)];
  }
}

function itemOf({ checked, blocks }: Item, page: Page): Content {
  const content = blocks.flatMap((block) => rendered(block, page)).map((each) => withoutGap(each));
  if (checked === undefined) return { stack: content };
  const box = { text: checked ? '☑' : '☐', width: 14 };
  return { columns: [box, { stack: content, width: page.width - 14 }], listType: 'none' } as unknown as Content;
}

/** Paragraphs of a list stand closer. */
const withoutGap = (content: Content): Content =>
  typeof content === 'object' && 'text' in content ? ({ ...content, margin: [0, 0, 0, 3] } as ContentText) : content;

function codeOf(lines: readonly string[], { coverage, width }: Page): Content {
  const text = lines.map((line) => coverage.covered(line.replaceAll('\t', '    '), 'monospaced')).join('\n');
  const code: ContentText = {
    text,
    font: 'code',
    fontSize: 9,
    preserveLeadingSpaces: true,
    preserveTrailingSpaces: true,
  };
  return { table: { widths: [width - 12], body: [[code]] }, layout: CODE, margin: [0, 2, 0, 9] };
}

/** The widths follow from the texts, and together are the page's: a table never leaves the page. */
function tableOf({ rows, align }: TableBlock, page: Page): Content {
  const columns = align.length;
  const padding = columns > UPRIGHT_COLUMNS ? 2 : 4;
  const weights = align.map((_, column) =>
    rows.reduce((most, row) => Math.min(Math.max(most, plainText(row[column] ?? []).length), 40), 4),
  );
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const width = page.width - columns * 2 * padding - columns - 1;
  const body = rows.map((cells, row) =>
    cells.map((spans, column): ContentText => {
      const text = runsOf(row === 0 ? spans.map((span) => ({ ...span, bold: true })) : spans, page);
      return { text, alignment: align[column] ?? 'left', ...(row === 0 ? { fillColor: PALE } : {}) };
    }),
  );
  return {
    table: { headerRows: 1, dontBreakRows: true, widths: weights.map((weight) => (width * weight) / total), body },
    fontSize: columns > 12 ? 7 : columns > UPRIGHT_COLUMNS ? 8 : 9.5,
    layout: tableLayout(padding),
    margin: [0, 2, 0, 9],
  };
}

const tableLayout = (padding: number): CustomTableLayout => ({
  hLineWidth: () => 0.5,
  vLineWidth: () => 0.5,
  hLineColor: () => LINE,
  vLineColor: () => LINE,
  paddingLeft: () => padding,
  paddingRight: () => padding,
  paddingTop: () => 2,
  paddingBottom: () => 2,
});

const QUOTE: CustomTableLayout = {
  hLineWidth: () => 0,
  vLineWidth: (index) => (index === 0 ? 2 : 0),
  vLineColor: () => LINE,
  paddingLeft: () => 8,
  paddingRight: () => 0,
};

const CODE: CustomTableLayout = {
  hLineWidth: () => 0,
  vLineWidth: () => 0,
  fillColor: () => PALE,
  paddingLeft: () => 6,
  paddingRight: () => 6,
};

function runsOf(spans: readonly Span[], { coverage }: Page): ContentText[] {
  return spans.map(({ text, bold = false, italic = false, struck = false, code = false, link }) => {
    const font = code ? 'monospaced' : bold ? 'bold' : italic ? 'italic' : 'normal';
    return {
      text: coverage.covered(text, font),
      bold,
      italics: italic,
      ...(code ? { font: 'code', background: PALE } : {}),
      ...(struck ? { decoration: 'lineThrough' as const } : {}),
      ...(link === undefined ? {} : { link, color: '#0b57d0' }),
    };
  });
}
