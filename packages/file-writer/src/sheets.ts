import { parseCsv } from './csv.js';
import { FileNotWritten } from './file-types.js';
import { type Block, blocksOf, plainText } from './markdown.js';

export interface Sheet {
  name: string;
  /** The first row is the header. */
  rows: string[][];
}

export interface Sheets {
  sheets: Sheet[];
  /** True if the content has text outside of tables. */
  leftOut: boolean;
}

const MAX_COLUMNS = 1_000;
const MAX_SHEETS = 100;

/** A heading in CSV has no separator. */
const HEADING = /^#{1,6}[ \t]+([^,;\t]+)$/;

/** Finds the tables in Markdown, or the parts of CSV. The heading before a table names its sheet. */
export function sheetsOf(content: string): Sheets {
  const { sheets, leftOut } = tablesOf(blocksOf(content)) ?? { sheets: partsOf(content), leftOut: false };
  if (sheets.length === 0) throw new FileNotWritten('content', 'There is no table. Write CSV, or Markdown tables.');
  if (sheets.length > MAX_SHEETS) throw new FileNotWritten('content', `A file has at most ${MAX_SHEETS} sheets.`);
  if (sheets.some(({ rows }) => rows.some((row) => row.length > MAX_COLUMNS)))
    throw new FileNotWritten('content', `A sheet has at most ${MAX_COLUMNS} columns.`);
  const names = new Set<string>();
  return { sheets: sheets.map(({ name, rows }, index) => ({ name: sheetName(name, index, names), rows })), leftOut };
}

/** @returns undefined if there is no table */
function tablesOf(blocks: readonly Block[]): Sheets | undefined {
  let name = '';
  let leftOut = false;
  const sheets: Sheet[] = [];
  for (const block of blocks) {
    if (block.kind === 'heading') name = plainText(block.spans);
    else if (block.kind === 'table') sheets.push({ name, rows: block.rows.map((row) => row.map(plainText)) });
    else leftOut = true;
  }
  return sheets.length === 0 ? undefined : { sheets, leftOut };
}

function partsOf(content: string): Sheet[] {
  const parts: { name: string; lines: string[] }[] = [{ name: '', lines: [] }];
  for (const line of content.split(/\r?\n/)) {
    const [, heading] = HEADING.exec(line.trimEnd()) ?? [];
    if (heading === undefined) parts.at(-1)?.lines.push(line);
    else parts.push({ name: heading, lines: [] });
  }
  return parts
    .map(({ name, lines }) => ({ name, rows: parseCsv(lines.join('\n')) }))
    .filter(({ rows }) => rows.length > 0);
}

/** Excel's rules: 31 characters without some, unique without regard to case. */
function sheetName(heading: string, index: number, names: Set<string>): string {
  const wanted = heading
    .replaceAll(/[\p{C}[\]:*?/\\]/gu, ' ')
    .trim()
    .replaceAll(/^'+|'+$/g, '')
    .slice(0, 31)
    .toWellFormed()
    .trim();
  const base = wanted === '' || wanted.toLowerCase() === 'history' ? `Sheet${index + 1}` : wanted;
  let name = base;
  for (let count = 2; names.has(name.toLowerCase()); count += 1) name = `${base.slice(0, 27).trim()} ${count}`;
  names.add(name.toLowerCase());
  return name;
}
