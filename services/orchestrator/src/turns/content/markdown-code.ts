/** Code as far as all readers agree. In doubt, text is not code, so tags in it are changed. */
export interface CodeState {
  /** Empty outside a fence. Tags are text inside one. */
  fence: string;
  indent: number;
  /** Backticks that opened a span in this line; empty outside a span. */
  span: string;
  /** Readers can disagree about code spans in this paragraph: it has unpaired backticks or a processing instruction. */
  isUnclear: boolean;
  /** A line of this paragraph begins with HTML, in which backticks and fences can mean nothing. */
  isHtml: boolean;
  /** Readers can disagree about fences: up to the end, or until a line further left ends the list or quote. */
  lost: '' | 'list' | 'end';
  isAfterBlank: boolean;
}

export const NO_CODE: CodeState = {
  fence: '',
  indent: 0,
  span: '',
  isUnclear: false,
  isHtml: false,
  lost: '',
  isAfterBlank: true,
};

const MAX_LINE = 200;
/** Readers disagree about fences that are indented further. */
const MAX_INDENT = 3;
const MARKS = String.raw`(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t\n]|$)))`;
const START = new RegExp(`^(${MARKS}*[ \\t]*)(\`+|~+|)`);
const MAYBE_MARK = /^[ \t>]*(?:\d{0,9}|[-*+]|\d{1,9}[.)])$/;

/** `hold`: it depends on characters that have not arrived. */
export function lineStart(source: string, at: number, isLast: boolean, before: CodeState): CodeState | 'hold' {
  const line = source.slice(at, at + MAX_LINE);
  const end = line.indexOf('\n');
  const text = end === -1 ? line : line.slice(0, end);
  const isWhole = end !== -1 || isLast || line.length === MAX_LINE;
  const [, marks = '', run = ''] = START.exec(text) ?? [];
  const rest = text.slice(marks.length + run.length);
  const isFence = run.length > 2 || (rest === '' && run !== '');
  if (!isWhole && (isFence || rest === '' || MAYBE_MARK.test(text))) return 'hold';
  const isUnclear = before.isUnclear || before.span !== '';
  const state = { ...before, span: '', isUnclear, isAfterBlank: end !== -1 && /^[\s>]*$/.test(text) };
  if (state.isAfterBlank) return { ...state, isUnclear: false, isHtml: false };
  const isLong = end === -1 && line.length === MAX_LINE;
  if (isLong && run.length > 2) return lose(state, 'end');
  const indent = /^ *$/.test(marks) ? marks.length : undefined;
  if (state.lost === 'list') return found(state, run, indent, before.isAfterBlank);
  if (state.lost === 'end') return state;
  if (state.fence === '') return opened(state, run, rest, indent);
  // The fence's list item may have ended, and the fence with it.
  if (indent === undefined ? startsFurtherLeft(marks, state.indent) : indent < state.indent) return lose(state, 'end');
  return closed(state, run, rest, indent);
}

const lose = (state: CodeState, lost: 'list' | 'end'): CodeState => ({ ...state, fence: '', lost });

/** An unindented line after an empty one ends all lists and quotes and the code blocks in them. */
function found(state: CodeState, run: string, indent: number | undefined, isAfterBlank: boolean): CodeState {
  if (run.length > 2) return indent === undefined || indent > MAX_INDENT ? state : lose(state, 'end');
  return indent === 0 && isAfterBlank ? { ...state, lost: '' } : state;
}

const startsFurtherLeft = (marks: string, indent: number): boolean => marks.length - marks.trimStart().length < indent;

function opened(state: CodeState, run: string, rest: string, indent: number | undefined): CodeState {
  if (run.length < 3 || (run.startsWith('`') && rest.includes('`'))) return state;
  if (state.isHtml) return lose(state, 'end');
  if (indent === undefined || indent > MAX_INDENT) return lose(state, 'list');
  return { ...state, fence: run, indent };
}

function closed(state: CodeState, run: string, rest: string, indent: number | undefined): CodeState {
  if (!run.startsWith(state.fence) || rest.trim() !== '') return state;
  if (indent === undefined) return state.indent === 0 ? state : lose(state, 'end');
  if (indent <= MAX_INDENT) return { ...state, fence: '', isUnclear: false, isHtml: false };
  return state.indent === 0 ? state : lose(state, 'end');
}

export function afterBackticks(run: string, state: CodeState): CodeState {
  if (state.fence !== '') return state;
  if (state.span === '') return { ...state, span: run };
  return state.span === run ? { ...state, span: '' } : state;
}

/** Look-behind in characters. */
const MAX_BEFORE = 280;
/** A line with one of these makes backtick pairs ambiguous: tables, formulas, escapes, tags, addresses. */
const UNCLEAR = /[|$\\<]|:\/\/|www\.|@/;

const SPAN = /(?<!`)(`+)(?!`).*?(?<!`)\1(?!`)/g;

/** @returns undefined if the text is too long */
export function lineBefore(source: string, at: number): string | undefined {
  const before = source.slice(Math.max(0, at - MAX_BEFORE), at);
  const start = before.lastIndexOf('\n');
  return start === -1 && at > MAX_BEFORE ? undefined : before.slice(start + 1);
}

/** True in a code span that ends in the same line. */
export function isInSpan(source: string, at: number, isLast: boolean, state: CodeState): boolean | 'hold' {
  const { span } = state;
  if (span === '' || state.isUnclear || state.isHtml || state.lost !== '') return false;
  const before = lineBefore(source, at);
  if (before === undefined) return false;
  if (before.includes('|')) return false;
  if (UNCLEAR.test(before.slice(0, before.lastIndexOf(span)).replaceAll(SPAN, ''))) return false;
  const line = source.slice(at, at + MAX_BEFORE);
  const end = line.indexOf('\n');
  const text = end === -1 ? line : line.slice(0, end);
  for (const { 0: run, index } of text.matchAll(/`+/g)) {
    if (index + run.length === line.length && !isLast && line.length < MAX_BEFORE) return 'hold';
    if (run === span) return !text.slice(0, index).includes('|');
  }
  return end === -1 && !isLast && line.length < MAX_BEFORE ? 'hold' : false;
}
