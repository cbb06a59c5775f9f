import iconv from 'iconv-lite';
import type { FileText } from '../file-reader.js';
import { createOutput, textOf } from './output.js';

/** Groups whose text is not shown. */
const SKIPPED = new Set(
  'fonttbl colortbl stylesheet info pict object themedata colorschememapping datastore latentstyles listtable listoverridetable rsidtbl generator xmlnstbl fldinst header footer'.split(
    ' ',
  ),
);

const WORDS: Record<string, string> = {
  par: '\n',
  line: '\n',
  sect: '\n',
  page: '\n',
  row: '\n',
  cell: '\t',
  tab: '\t',
  emdash: '—',
  endash: '–',
  lquote: '‘',
  rquote: '’',
  ldblquote: '“',
  rdblquote: '”',
  bullet: '•',
};

/** One control word, escaped byte, symbol, brace, or run of text; without alternatives that overlap. */
const TOKEN = /\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-f]{2})|\\([^a-z'])|([{}])|([^\\{}\r\n]+)/giy;

interface Group {
  skipped: boolean;
  /** Characters that old readers show instead of a Unicode character. */
  fallback: number;
}

/** Reads RTF as paragraphs and cells, without styles and pictures. */
export function readRichText(bytes: Uint8Array, characters: number): FileText {
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const encoding = `windows-${/\\ansicpg(\d{3,5})/.exec(source.slice(0, 2000))?.[1] ?? '1252'}`;
  const text: string[] = [];
  const pending: number[] = [];
  const groups: Group[] = [];
  let group: Group = { skipped: false, fallback: 1 };
  let toSkip = 0;
  const flush = () => {
    if (pending.length === 0) return;
    const known = iconv.encodingExists(encoding) ? encoding : 'windows-1252';
    text.push(iconv.decode(Buffer.from(pending.splice(0)), known));
  };
  const add = (value: string) => {
    flush();
    if (!group.skipped) text.push(value);
  };
  for (let index = 0; index < source.length;) {
    TOKEN.lastIndex = index;
    const token = TOKEN.exec(source);
    index = token === null ? index + 1 : TOKEN.lastIndex;
    if (token === null) continue;
    const [, word, parameter, hex, symbol, brace, plain] = token;
    if (brace === '{') groups.push({ ...group });
    else if (brace === '}') group = groups.pop() ?? group;
    else if (hex !== undefined) {
      if (toSkip > 0) toSkip -= 1;
      else if (!group.skipped) pending.push(Number.parseInt(hex, 16));
    } else if (word === 'u') {
      add(String.fromCharCode(Number(parameter) & 0xffff));
      toSkip = group.fallback;
    } else if (word === 'uc') group.fallback = Number(parameter ?? 1);
    else if (word !== undefined && SKIPPED.has(word)) group.skipped = true;
    else if (word !== undefined) add(WORDS[word] ?? '');
    else if (symbol === '*') group.skipped = true;
    else if (symbol !== undefined) add(symbol === '~' ? '\u00A0' : /[\\{}]/.test(symbol) ? symbol : '');
    else if (plain !== undefined) {
      const skipped = Math.min(toSkip, plain.length);
      toSkip -= skipped;
      add(plain.slice(skipped));
    }
  }
  flush();
  const output = createOutput(characters);
  output.add(
    '',
    text
      .join('')
      .replaceAll(/\n{3,}/g, '\n\n')
      .trim(),
  );
  return textOf(output, { what: 'document', kind: 'text', total: 1 });
}
