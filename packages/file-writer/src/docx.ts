import {
  AlignmentType,
  BorderStyle,
  Document,
  ExternalHyperlink,
  HeadingLevel,
  type ILevelsOptions,
  type IParagraphOptions,
  LevelFormat,
  Packer,
  PageBreak,
  Paragraph,
  type ParagraphChild,
  ShadingType,
  Table,
  TableCell,
  TableRow,
  TextRun,
  WidthType,
} from 'docx';
import { withoutRandomness } from './archive.js';
import { type Block, blocksOf, type Item, type Span, type TableBlock } from './markdown.js';

const MONOSPACED = 'Courier New';
const PALE = 'F3F4F6';
const LINE = { style: BorderStyle.SINGLE, size: 6, color: 'BFC4CC' } as const;
const LEVELS = [
  HeadingLevel.HEADING_1,
  HeadingLevel.HEADING_2,
  HeadingLevel.HEADING_3,
  HeadingLevel.HEADING_4,
  HeadingLevel.HEADING_5,
  HeadingLevel.HEADING_6,
] as const;
/** Twentieths of a point. */
const INDENT = 360;
const DEEPEST = 8;

interface Place {
  indent: number;
  quoted: boolean;
  /** Of the list around it; -1 outside of lists. */
  depth: number;
}

interface Numbering {
  reference: string;
  levels: ILevelsOptions[];
}

/** Writes a Word document from Markdown. Word chooses fonts for scripts that its default font lacks. */
export async function writeDocx(title: string, content: string): Promise<Uint8Array> {
  const numberings: Numbering[] = [];
  const blocks = blocksOf(content);
  const children = blocks.flatMap((block) => rendered(block, { indent: 0, quoted: false, depth: -1 }, numberings));
  const document = new Document({
    title,
    creator: '',
    lastModifiedBy: '',
    styles: {
      default: {
        document: { run: { font: 'Calibri', size: 22 }, paragraph: { spacing: { after: 120 } } },
        hyperlink: { run: { color: '0B57D0', underline: {} } },
      },
    },
    numbering: { config: numberings },
    sections: [{ children }],
  });
  return withoutRandomness(await Packer.toBuffer(document));
}

function rendered(block: Block, place: Place, numberings: Numbering[]): (Paragraph | Table)[] {
  switch (block.kind) {
    case 'heading':
      return [
        new Paragraph({
          ...placed(place),
          heading: LEVELS[block.level - 1] ?? HeadingLevel.HEADING_6,
          keepNext: true,
          children: block.spans.flatMap(runsOf),
        }),
      ];
    case 'paragraph':
      return [new Paragraph({ ...placed(place), children: block.spans.flatMap(runsOf) })];
    case 'code':
      return block.lines.map(
        (line) =>
          new Paragraph({
            ...placed(place),
            spacing: { after: 0 },
            shading: { type: ShadingType.CLEAR, fill: PALE },
            children: [new TextRun({ text: line, font: MONOSPACED, size: 19 })],
          }),
      );
    case 'quote':
      return block.blocks.flatMap((each) =>
        rendered(each, { ...place, indent: place.indent + INDENT, quoted: true }, numberings),
      );
    case 'list':
      return listOf(block.items, block.start, place, numberings);
    case 'rule':
      return [new Paragraph({ ...placed(place), border: { bottom: { ...LINE, space: 1 } } })];
    case 'page-break':
      return [new Paragraph({ children: [new PageBreak()] })];
    case 'table':
      // Word joins tables that follow each other, and a document cannot end with one.
      return [tableOf(block), new Paragraph({ spacing: { after: 0 } })];
  }
}

const placed = ({ indent, quoted }: Place): IParagraphOptions => ({
  ...(indent > 0 ? { indent: { left: indent } } : {}),
  ...(quoted ? { border: { left: { ...LINE, size: 18, space: 8 } } } : {}),
});

/** Each list has its own numbering, so that it begins with its own number. */
function listOf(items: readonly Item[], start: number | undefined, place: Place, numberings: Numbering[]) {
  const depth = Math.min(place.depth + 1, DEEPEST);
  const reference = `list-${numberings.length + 1}`;
  const indent = place.indent + INDENT;
  const level = {
    level: depth,
    start: start ?? 1,
    alignment: AlignmentType.LEFT,
    style: { paragraph: { indent: { left: indent, hanging: INDENT } } },
  };
  const format =
    start === undefined
      ? { format: LevelFormat.BULLET, text: ['•', '◦', '▪'][depth % 3] ?? '•' }
      : { format: LevelFormat.DECIMAL, text: `%${depth + 1}.` };
  numberings.push({ reference, levels: [{ ...level, ...format }] });
  return items.flatMap(({ checked, blocks }) => {
    const [first, ...rest] = blocks;
    const spans = first?.kind === 'paragraph' ? first.spans : [];
    const others = first?.kind === 'paragraph' ? rest : blocks;
    const task = checked === undefined ? [] : [new TextRun(checked ? '☑ ' : '☐ ')];
    return [
      new Paragraph({
        numbering: { reference, level: depth },
        spacing: { after: 60 },
        children: [...task, ...spans.flatMap(runsOf)],
      }),
      ...others.flatMap((block) => rendered(block, { ...place, indent, depth }, numberings)),
    ];
  });
}

function tableOf({ rows, align }: TableBlock): Table {
  const borders = { top: LINE, bottom: LINE, left: LINE, right: LINE, insideHorizontal: LINE, insideVertical: LINE };
  return new Table({
    width: { size: 100, type: WidthType.PERCENTAGE },
    borders,
    margins: { top: 40, bottom: 40, left: 90, right: 90 },
    rows: rows.map(
      (cells, row) =>
        new TableRow({
          tableHeader: row === 0,
          cantSplit: true,
          children: cells.map(
            (spans, column) =>
              new TableCell({
                ...(row === 0 ? { shading: { type: ShadingType.CLEAR, fill: PALE } } : {}),
                children: [
                  new Paragraph({
                    alignment: align[column] ?? 'left',
                    spacing: { after: 0 },
                    children: spans.flatMap((span) => runsOf(row === 0 ? { ...span, bold: true } : span)),
                  }),
                ],
              }),
          ),
        }),
    ),
  });
}

function runsOf(span: Span): ParagraphChild[] {
  const { text, bold = false, italic = false, struck = false, code = false, link } = span;
  const runs = text.split('\n').map(
    (line, index) =>
      new TextRun({
        text: line,
        bold,
        italics: italic,
        strike: struck,
        ...(index > 0 ? { break: 1 } : {}),
        ...(code ? { font: MONOSPACED, shading: { type: ShadingType.CLEAR, fill: PALE } } : {}),
        ...(link === undefined ? {} : { style: 'Hyperlink' }),
      }),
  );
  return link === undefined ? runs : [new ExternalHyperlink({ link, children: runs })];
}
