/** Characters that hide or reorder text. Excludes joiners and direction marks, which scripts and emoji need. */
const INVISIBLE =
  /[\u00ad\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0]|[\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu;

/** Makes invisible characters visible, so that a text shows what it contains. */
export const visibleText = (text: string): string => text.replaceAll(INVISIBLE, '␣');

/** Quotes and lists nested far deeper than in a readable text. */
const NESTED = /^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])){40}|^[ \t]{80,}(?:[*+-]|\d{1,9}[.)])[ \t]/m;
const MARKS = /[*_~]/g;
const UNDERLINES = /^ {0,3}(?:=+|-+)[ \t]*$/gm;
const [MOST_MARKS, MOST_UNDERLINES, MOST_CELLS] = [2_500, 100, 10_000];

/**
 * True if parsing is quick and fits on the stack. Parsing time grows with the square of depth and mark count, and the
 * parser pads each table row to the column count.
 */
export function isParsable(block: string): boolean {
  const lines = block.split('\n');
  // Spread arguments would overflow the stack with a hundred thousand lines.
  const columns = lines.reduce((most, line) => Math.max(most, line.split('|').length - 1), 0);
  const count = (pattern: RegExp): number => block.match(pattern)?.length ?? 0;
  return (
    !NESTED.test(block) &&
    count(MARKS) <= MOST_MARKS &&
    count(UNDERLINES) <= MOST_UNDERLINES &&
    columns * lines.length <= MOST_CELLS
  );
}

/** Splits Markdown at blank lines outside fences, so that finished blocks are not parsed again with each chunk. */
export function blocksOf(markdown: string): string[] {
  const blocks: string[] = [];
  let [block, last, fence] = ['', '', undefined as string | undefined];
  for (const line of markdown.split('\n')) {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (fence === undefined && mark !== undefined) fence = mark;
    else if (mark?.startsWith(fence ?? ' ') && line.trim() === mark) fence = undefined;
    if (line.trim() === '' && fence === undefined && !/^(?: {2,}|\t|[-*+] |\d+[.)] )/.test(last)) {
      if (block !== '') blocks.push(block);
      [block, last] = ['', ''];
    } else [block, last] = [`${block}${line}\n`, line];
  }
  return block === '' ? blocks : [...blocks, block];
}
