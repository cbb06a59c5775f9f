import type { FilePart, FileText } from './file-reader.js';
import { bestPassages } from './passages.js';
import { inRanges, parseRanges } from './ranges.js';

/**
 * A model's request. `pages` and `rows` narrow the text, `offset` continues in it, and `query` searches in it.
 * Null means the same as absent.
 */
export interface TextRequest {
  /** Pages, slides, sections or sheets by number, from 1: `3`, `10-12`, `10-` or `3, 10-12`. */
  pages?: string | null | undefined;
  /** Rows by the number in front of them; lines, in texts without rows. Written as `pages`. */
  rows?: string | null | undefined;
  /** Characters to skip, from the previous answer. */
  offset?: number | null | undefined;
  query?: string | null | undefined;
}

export interface SelectedText {
  /** At most `maxCharacters` long, with labels and a last line that tells how to continue. */
  text: string;
  /** Continues this answer; absent at the end. */
  next?: TextRequest;
  /** Counts the passages that match the query; `text` shows the best ones. */
  found?: number;
}

/** For an answer's first and last line. */
const FRAME_CHARACTERS = 360;

const MIN_CHARACTERS = 100;

const UNITS: Record<FileText['kind'], string> = {
  pages: 'page',
  slides: 'slide',
  sections: 'section',
  rows: 'sheet',
  text: 'part',
  listing: 'part',
};

/** Returns what a model asked for, as a tool's result. */
export function selectText(text: FileText, ask: TextRequest, maxCharacters: number): SelectedText {
  const parts = choose(text, ask);
  if (typeof parts === 'string') return { text: clip(parts, maxCharacters) };
  const budget = Math.max(MIN_CHARACTERS, maxCharacters - FRAME_CHARACTERS);
  const query = ask.query?.trim();
  const selected = query ? search(text, parts, query, budget) : slice(text, parts, ask, budget);
  return { ...selected, text: clip(selected.text, maxCharacters) };
}

function slice(text: FileText, parts: FilePart[], ask: TextRequest, budget: number): SelectedText {
  const whole = parts.map(rendered).join('\n\n');
  const offset = Math.max(0, Math.floor(ask.offset ?? 0));
  if (offset >= whole.length) {
    const message = whole === '' ? 'This part has no text.' : `The text ends at character ${shown(whole.length)}.`;
    return { text: `${summary(text)}\n${message}${scannedHint(text, parts)}` };
  }
  const end = cutAt(whole, offset, budget);
  const lines = summary(text) === '' ? [] : [summary(text)];
  const label = labelAt(parts, offset);
  if (label !== '') lines.push(`[${label}, continued]`);
  lines.push(whole.slice(offset, end));
  if (offset === 0 && end === whole.length) return { text: lines.join('\n') + scannedHint(text, parts) };
  const range = `characters ${shown(offset)}–${shown(end)} of ${shown(whole.length)}`;
  if (end === whole.length) return { text: [...lines, `[${range}; this is the end]`].join('\n') };
  lines.push(`[${range}; continue with ${narrowing(ask)}offset ${end}]`);
  return { text: lines.join('\n'), next: { ...narrowed(ask), offset: end } };
}

function search(text: FileText, parts: FilePart[], query: string, budget: number): SelectedText {
  const { passages, found } = bestPassages(parts, query, text.kind === 'rows' ? 'rows' : 'lines');
  if (found === 0)
    return {
      text: `${summary(text)}\nNothing matches ${JSON.stringify(query.slice(0, 100))}. Try other words.`,
      found,
    };
  const lines: string[] = [];
  let left = budget;
  for (const { label, text: passage } of passages) {
    const block = `[${label}]\n${passage}`;
    if (block.length + 2 > left && lines.length > 0) break;
    lines.push(clip(block, left));
    left -= block.length + 2;
  }
  const count = found === 1 ? '1 passage matches' : `${shown(found)} passages match`;
  const head = `${count}${lines.length < found ? `; the best ${lines.length} of them` : ''}:`;
  return { text: [summary(text), head, ...lines].join('\n\n'), found };
}

/** @returns the chosen parts, or a sentence on what is wrong with the ranges */
function choose(text: FileText, { pages, rows }: TextRequest): FilePart[] | string {
  const unit = UNITS[text.kind];
  let parts = text.parts;
  if (pages?.trim()) {
    const ranges = parseRanges(pages);
    if (ranges === undefined) return invalid('pages', pages);
    parts = parts.filter((_, index) => inRanges(ranges, index + 1));
    if (parts.length === 0) return outside(unit, text.parts.length, text);
  }
  if (!rows?.trim()) return parts;
  const ranges = parseRanges(rows);
  if (ranges === undefined) return invalid('rows', rows);
  const numbered = text.kind === 'rows';
  const chosen = parts.map(({ label, text: whole }) => {
    const lines = whole.split('\n');
    const kept = lines.filter((line, index) => inRanges(ranges, numbered ? Number.parseInt(line, 10) : index + 1));
    return { label, text: kept.join('\n') };
  });
  const filled = chosen.filter((part) => part.text !== '');
  if (filled.length > 0) return filled;
  const last = parts.reduce((most, part) => Math.max(most, lastRow(part.text, numbered)), 0);
  return outside(numbered ? 'row' : 'line', last, text);
}

function lastRow(text: string, numbered: boolean): number {
  if (!numbered) return text.split('\n').length;
  return Number.parseInt(text.slice(text.lastIndexOf('\n') + 1), 10) || 0;
}

function invalid(name: string, value: string): string {
  return `${name} is ${JSON.stringify(value.slice(0, 50))}; it must be a number or a range, such as "3" or "10-12".`;
}

function outside(unit: string, last: number, { truncated, total, kind }: FileText): string {
  const unread =
    truncated && UNITS[kind] === unit && total > last ? ` of ${shown(total)}; the others were not read` : '';
  return `The ${unit} was not found: the last one is ${shown(last)}${unread}.`;
}

function rendered({ label, text }: FilePart): string {
  return label === '' ? text : `[${label}]\n${text}`;
}

/** @returns the part's label if the offset is in its middle */
function labelAt(parts: FilePart[], offset: number): string {
  let start = 0;
  for (const part of parts) {
    const end = start + rendered(part).length + 2;
    if (offset < end) return offset > start ? part.label : '';
    start = end;
  }
  return '';
}

/** Prefers to cut after a line, and never splits a character. */
function cutAt(text: string, start: number, budget: number): number {
  const end = start + budget;
  if (end >= text.length) return text.length;
  const line = text.lastIndexOf('\n', end);
  if (line > start + budget * 0.8) return line + 1;
  return /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) ? end - 1 : end;
}

function summary({ kind, title, total, truncated, notes, parts }: FileText): string {
  const unit = kind === 'rows' ? 'row' : kind === 'listing' ? 'file' : UNITS[kind];
  const size = kind === 'text' ? [] : [`${shown(total)} ${unit}${total === 1 ? '' : 's'}`];
  if (kind === 'rows' && parts.length > 1) size.unshift(`${parts.length} sheets`);
  const name = title === undefined ? [] : [JSON.stringify(title.slice(0, 80))];
  const cut = truncated ? ['only the first part was read'] : [];
  const sentence = [...name, ...size, ...cut].join(', ');
  return [sentence, ...notes.slice(0, 1)]
    .filter((line) => line !== '')
    .join('. ')
    .slice(0, 240);
}

function scannedHint({ scanned, parts: all }: FileText, parts: FilePart[]): string {
  const chosen = new Set(parts.map((part) => all.indexOf(part) + 1));
  const numbers = scanned.filter((page) => chosen.has(page));
  if (numbers.length === 0) return '';
  const more = numbers.length > 10 ? ', …' : '';
  return `\n[Without text, perhaps scanned: page ${numbers.slice(0, 10).join(', ')}${more}]`;
}

function narrowed({ pages, rows }: TextRequest): TextRequest {
  return { ...(pages?.trim() ? { pages } : {}), ...(rows?.trim() ? { rows } : {}) };
}

function narrowing(ask: TextRequest): string {
  return Object.entries(narrowed(ask))
    .map(([name, value]) => `${name} ${JSON.stringify(value)} and `)
    .join('');
}

function shown(number: number): string {
  return number.toLocaleString('en-US');
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, Math.max(0, length - 1))}…`;
}
