// Code in a text: it stays as the model wrote it.

const FENCE_LINE = /^[ \t]*(?:(?:[-*+>]|\d+[.)])[ \t]+)*(`{3,}|~{3,})([^\n`]*)\n/u;
const FENCE_START = /^[ \t]*(?:(?:[-*+>]|\d+[.)])[ \t]+)*(?:`{3,}|~{3,})[^\n`]*$/u;
const MAX_SPAN = 400;

/** The fence that begins a block in a line, of which `start` was shown. */
export function fenceAt(start: string, text: string): { marker: string; length: number } | undefined {
  if (!/^[`~]/.test(text)) return undefined;
  const found = FENCE_LINE.exec(start + text.slice(0, MAX_SPAN));
  const length = (found?.[0].length ?? 0) - start.length;
  return found === null || length <= 0 ? undefined : { marker: found[1] ?? '', length };
}

/** Returns true if the text can begin a code fence. */
export const canBeFence = (start: string, text: string): boolean =>
  (text.length < MAX_SPAN && FENCE_START.test(start + text)) || /^(?:`{1,2}|~{1,2})$/.test(text);

/** Returns true if the line closes the code fence. */
export const isFenceEnd = (line: string, marker: string): boolean =>
  line.length >= marker.length && [...line].every((character) => character === marker[0]);

/** Returns true if the line so far can close a code fence, or the thoughts around it. */
export const canEndBlock = (line: string): boolean =>
  line === '' || /^(?:`+|~+|<\/?[a-z:_]*|<\/[a-z:_]+>|\[\/?[A-Z]*\]?)$/iu.test(line);

/** The length of code that begins with a backtick, or of the backticks if none is; undefined if more is needed. */
export function spanLength(text: string, isWhole: boolean): number | undefined {
  const ticks = /^`+/.exec(text)?.[0].length ?? 0;
  if (ticks === text.length && !isWhole && ticks < MAX_SPAN) return undefined;
  const head = text.slice(0, Math.max(ticks, MAX_SPAN));
  const end = head.indexOf('\n', ticks);
  const line = end < 0 ? head : head.slice(0, end);
  const isComplete = isWhole || end >= 0;
  const closing = [...line.slice(ticks).matchAll(/`+/g)].find(
    ({ 0: run, index }) => run.length === ticks && (isComplete || ticks + index + run.length < text.length),
  );
  if (closing === undefined && !isComplete && text.length < MAX_SPAN) return undefined;
  return closing === undefined ? ticks : ticks + closing.index + ticks;
}
