import writeExcelFile, { type Cell } from 'write-excel-file/node';
import { withoutRandomness } from './archive.js';
import type { Sheet } from './sheets.js';

/** As programs write them: without separators, and not more digits than a cell keeps. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,10})?$/;
const PERCENT = /^(-?(?:0|[1-9]\d{0,8})(?:\.\d{1,8})?) ?%$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2}))?)?$/;
const MAX_CELL_CHARACTERS = 32_767;

/** Writes an Excel workbook. Texts are never formulas. */
export async function writeXlsx(sheets: readonly Sheet[]): Promise<Uint8Array> {
  const data = sheets.map(({ name, rows }) => {
    const columns = rows.reduce((most, row) => Math.max(most, row.length), 0);
    return {
      sheet: name,
      stickyRowsCount: 1,
      columns: Array.from({ length: columns }, (_, column) => ({ width: widthOf(rows, column) })),
      data: rows.map((row, index) => row.map((text) => (index === 0 ? headerCell(text) : cellOf(text)))),
    };
  });
  return withoutRandomness(await writeExcelFile(data).toBuffer());
}

const textCell = (text: string) => ({ type: String, value: text.slice(0, MAX_CELL_CHARACTERS).toWellFormed() });
const headerCell = (text: string): Cell => (text === '' ? null : { ...textCell(text), fontWeight: 'bold' });

function cellOf(text: string): Cell {
  const trimmed = text.trim();
  if (trimmed === '') return null;
  if (NUMBER.test(trimmed) && trimmed.replaceAll(/\D/g, '').length <= 15)
    return { type: Number, value: Number(trimmed) };
  const [, percent] = PERCENT.exec(trimmed) ?? [];
  if (percent !== undefined) {
    const decimals = percent.split('.')[1] ?? '';
    const format = decimals === '' ? '0%' : `0.${'0'.repeat(decimals.length)}%`;
    return { type: Number, value: Number(`${percent}e-2`), format };
  }
  return dateCell(trimmed) ?? textCell(text);
}

function dateCell(text: string): Cell | undefined {
  const [, year, month, day, hours, minutes, seconds] = DATE.exec(text) ?? [];
  if (year === undefined || Number(year) < 1900) return undefined;
  const time = hours === undefined ? '00:00:00' : `${hours}:${minutes}:${seconds ?? '00'}`;
  const value = new Date(`${year}-${month}-${day}T${time}Z`);
  // JavaScript accepts the 31st of February.
  if (Number.isNaN(value.getTime()) || value.getUTCDate() !== Number(day)) return undefined;
  const format =
    hours === undefined ? 'yyyy-mm-dd' : seconds === undefined ? 'yyyy-mm-dd hh:mm' : 'yyyy-mm-dd hh:mm:ss';
  return { type: Date, value, format };
}

/** In characters. */
function widthOf(rows: readonly string[][], column: number): number {
  const longest = rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), 0);
  return Math.min(Math.max(longest + 2, 9), 60);
}
