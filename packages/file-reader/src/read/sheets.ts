import { zipSync } from 'fflate';
import { read, type CellObject, type WorkSheet } from '@e965/xlsx';
import type { FileText } from '../file-reader.js';
import { createOutput, textOf, type Output } from './output.js';
import type { Zip } from './zip.js';

const WHAT = 'spreadsheet';

/** Reads an .xlsx, .xlsm, .xlsb or .ods file. */
export async function readZippedSheets(zip: Zip, characters: number): Promise<FileText> {
  // Without pictures and macros, and without compression: what SheetJS decompresses has passed the limits.
  const files = await zip.read(
    (name) => !/(?:^|\/)(?:media|embeddings|Pictures|Thumbnails|theme|vbaProject\.bin)/.test(name),
  );
  return readSheets(zipSync(Object.fromEntries(files), { level: 0 }), characters);
}

/** @param bytes any workbook, also .xls */
export function readSheets(bytes: Uint8Array, characters: number): FileText {
  const workbook = read(bytes, {
    type: 'buffer',
    dense: true,
    cellFormula: false,
    cellHTML: false,
    bookVBA: false,
    // The same order of day and month for all readers, where a file has the "short date" of its user.
    dateNF: 'yyyy-mm-dd',
  });
  const output = createOutput(characters);
  let total = 0;
  for (const [index, name] of workbook.SheetNames.entries()) {
    const sheet = workbook.Sheets[name];
    const hidden = workbook.Workbook?.Sheets?.[index]?.Hidden ? ' (hidden)' : '';
    const { text, rows } = sheetText(sheet, output);
    total += rows;
    output.add(`Sheet ${JSON.stringify(name)}${hidden}`, text);
  }
  return textOf(output, { what: WHAT, kind: 'rows', total });
}

/** Rows with a value; all are counted, also when the output has no room. */
function sheetText(sheet: WorkSheet | undefined, output: Output): { text: string; rows: number } {
  const data = (sheet as { '!data'?: (CellObject[] | undefined)[] } | undefined)?.['!data'] ?? [];
  const lines: string[] = [];
  let length = 0;
  let rows = 0;
  // `forEach` skips holes, of which a hostile sheet has a million.
  data.forEach((row, index) => {
    if (row === undefined) return;
    if (length > output.left()) {
      rows += 1;
      return;
    }
    const line = rowText(row, output.left() - length);
    if (line === '') return;
    rows += 1;
    const numbered = `${index + 1}\t${line}`;
    lines.push(numbered);
    length += numbered.length + 1;
  });
  return { text: lines.join('\n'), rows };
}

function rowText(row: CellObject[], limit: number): string {
  let line = '';
  let end = 0;
  row.forEach((cell, column) => {
    const value = cell === undefined || line.length > limit ? '' : shown(cell);
    if (value === '') return;
    line += ','.repeat(column - end) + quote(value);
    end = column;
  });
  return line;
}

/** As a user sees it; a formula has the value that was saved with it. */
function shown({ t, v, w }: CellObject): string {
  if (t === 'z' || v === undefined) return w ?? '';
  return w ?? String(v);
}

/** A cell of a line of CSV. */
export function quote(value: string): string {
  const flat = value.trim().replaceAll(/\s*[\r\n]+\s*/g, ' ');
  return /[",]/.test(flat) ? `"${flat.replaceAll('"', '""')}"` : flat;
}
