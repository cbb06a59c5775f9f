import Papa from 'papaparse';

/**
 * Spreadsheet programs calculate cells that begin like this, and a formula can start programs. It does not match numbers
 * and phone numbers.
 */
const FORMULA = /^(?:[=@\t\r]|[+-](?![\d\s().,/%-]*$))/;

const TEXT = { header: false, dynamicTyping: false, skipEmptyLines: 'greedy' } as const;

/** The separator is detected. */
export const parseCsv = (content: string): string[][] => Papa.parse<string[]>(content.trim(), TEXT).data;

/** CSV (RFC 4180). A cell that a spreadsheet program would calculate begins with an apostrophe. */
export function writeCsv(content: string): string {
  const rows = parseCsv(content);
  return Papa.unparse(rows, { escapeFormulae: FORMULA, newline: '\r\n' }) + (rows.length > 0 ? '\r\n' : '');
}
