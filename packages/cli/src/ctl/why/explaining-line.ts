import { parseJson } from '@uswarm/service-kit';
import { plain } from '../show.js';

/** A line that is longer hides the others on a screen. */
const LONGEST = 400;
const ERROR_LEVELS = new Set<unknown>(['error', 'fatal', 50, 60]);
const ERROR_WORDS =
  /\b(?:\w*error|fatal|panic|\w*exception|fail(?:ed|ure|s)?|cannot|refused|denied|invalid|missing|must be|out of memory)\b/i;
/** Lines of a stack trace, and the version line that Node.js prints after one. */
const TRACE = /^\s+at |^Node\.js v\d|^\s*\^+\s*$|^\s*[}\])]+;?\s*$/;

interface Entry {
  level?: unknown;
  msg?: unknown;
  err?: { message?: unknown };
}

/**
 * Returns the last line that reports an error, in JSON or text, else the last line.
 *
 * @returns null for an empty log
 */
export function explainingLine(log: string): string | null {
  const lines = log.split('\n').filter((line) => plain(line).trim() !== '');
  const newestFirst = lines.filter((line) => !TRACE.test(line)).toReversed();
  const found = newestFirst.find(isError) ?? newestFirst[0] ?? lines.at(-1);
  return found === undefined ? null : shorten(textOf(found));
}

function isError(line: string): boolean {
  const entry = entryOf(line);
  return entry === undefined ? ERROR_WORDS.test(line) : ERROR_LEVELS.has(entry.level);
}

function textOf(line: string): string {
  const entry = entryOf(line);
  if (typeof entry?.msg !== 'string') return plain(line).trim();
  const cause = entry.err?.message;
  return plain(typeof cause === 'string' && !entry.msg.includes(cause) ? `${entry.msg}: ${cause}` : entry.msg);
}

function entryOf(line: string): Entry | undefined {
  if (!line.startsWith('{')) return undefined;
  const parsed = parseJson(line);
  return typeof parsed === 'object' && parsed !== null ? parsed : undefined;
}

const shorten = (text: string): string => (text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
