import Papa from 'papaparse';
import type { FileText } from '../file-reader.js';
import { createOutput, textOf } from './output.js';
import { quote } from './sheets.js';

/** Reads CSV or TSV text, and detects its delimiter. */
export function readTable(text: string, characters: number): FileText {
  const lines: string[] = [];
  let length = 0;
  let total = 0;
  Papa.parse<string[]>(text, {
    delimitersToGuess: [',', '\t', ';', '|'],
    skipEmptyLines: true,
    step({ data }) {
      total += 1;
      if (length > characters) return;
      const line = `${total}\t${data.map(quote).join(',')}`;
      lines.push(line);
      length += line.length + 1;
    },
  });
  const output = createOutput(characters);
  output.add('', lines.join('\n'));
  return textOf(output, { what: 'table', kind: 'rows', total });
}
