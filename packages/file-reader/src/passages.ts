import type { FilePart } from './file-reader.js';

export interface Passage {
  /** `Page 3`, `Sheet "Costs", rows 10–42` or `lines 1–20`. */
  label: string;
  text: string;
}

const PASSAGE_CHARACTERS = 800;

/** BM25 weighs repetitions and passage lengths by them. */
const K1 = 1.2;
const B = 0.75;

const MAX_TERMS = 16;

/** Scripts without spaces between words: each two characters are a term. */
const DENSE = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u;

/**
 * Ranks passages by BM25, best first. There is no index: a model asks a few times, and one scan
 * through a long book takes less time than building one.
 */
export function bestPassages(
  parts: readonly FilePart[],
  query: string,
  unit: 'rows' | 'lines',
): { passages: Passage[]; found: number } {
  const passages = parts.flatMap((part) => split(part, unit));
  const folded = passages.map(({ text }) => fold(text));
  const average = folded.reduce((sum, { length }) => sum + length, 0) / Math.max(1, passages.length);
  const scores = new Map<Passage, number>();
  for (const term of termsOf(query)) {
    const counts = folded.map((text) => occurrences(text, term));
    const having = counts.filter((count) => count > 0).length;
    const weight = Math.log(1 + (passages.length - having + 0.5) / (having + 0.5));
    for (const [place, passage] of passages.entries()) {
      const count = counts[place] ?? 0;
      if (count === 0) continue;
      const norm = K1 * (1 - B + (B * passage.text.length) / average);
      scores.set(passage, (scores.get(passage) ?? 0) + (weight * count * (K1 + 1)) / (count + norm));
    }
  }
  const best = [...scores].toSorted(([, a], [, b]) => b - a);
  return { passages: best.map(([passage]) => passage), found: best.length };
}

/** Ignores case and accents, in any script. */
function termsOf(query: string): string[] {
  const words = fold(query).match(/[\p{L}\p{N}]+/gu) ?? [];
  const terms = words.flatMap((word) => {
    if (!DENSE.test(word) || word.length < 3) return [word];
    return Array.from({ length: word.length - 1 }, (_, index) => word.slice(index, index + 2));
  });
  return [...new Set(terms)].slice(0, MAX_TERMS);
}

function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase();
}

/** Counts word beginnings, so that `cost` finds `costs`. */
function occurrences(folded: string, term: string): number {
  let count = 0;
  for (let at = folded.indexOf(term); at !== -1; at = folded.indexOf(term, at + term.length)) {
    if (at === 0 || DENSE.test(term) || !/[\p{L}\p{N}]/u.test(folded.charAt(at - 1))) count += 1;
  }
  return count;
}

/** Cuts a part between lines. A line that is too long is cut between words. */
function split({ label, text }: FilePart, unit: 'rows' | 'lines'): Passage[] {
  const passages: Passage[] = [];
  let open: { first: number; last: number; lines: string[]; length: number } | undefined;
  const close = () => {
    if (open === undefined) return;
    const { first, last, lines } = open;
    open = undefined;
    const range = `${unit} ${first === last ? first : `${first}–${last}`}`;
    const place = label === '' ? range : unit === 'rows' ? `${label}, ${range}` : label;
    passages.push({ label: place, text: lines.join('\n') });
  };
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    const number = unit === 'rows' ? Number.parseInt(line, 10) : index + 1;
    for (const piece of line.length > PASSAGE_CHARACTERS * 2 ? cut(line) : [line]) {
      if (open !== undefined && open.length + piece.length > PASSAGE_CHARACTERS) close();
      open ??= { first: number, last: number, lines: [], length: 0 };
      open.last = number;
      open.lines.push(piece);
      open.length += piece.length + 1;
    }
  }
  close();
  return passages;
}

function cut(line: string): string[] {
  const pieces: string[] = [];
  for (let start = 0; start < line.length;) {
    const space = line.lastIndexOf(' ', start + PASSAGE_CHARACTERS);
    const end = space > start + PASSAGE_CHARACTERS / 2 ? space : start + PASSAGE_CHARACTERS;
    pieces.push(line.slice(start, end));
    start = end;
  }
  return pieces;
}
