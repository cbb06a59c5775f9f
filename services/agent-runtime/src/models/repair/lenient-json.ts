import { jsonrepair } from 'jsonrepair';
import { parseJson } from '@uswarm/service-kit';

// JSON as models write it.

/** End of a value; true if the value is strict JSON. */
interface Extent {
  /** The index after the last bracket. */
  end: number;
  isStrict: boolean;
}

const OPEN = '{[';
const CLOSE = '}]';
/** One of these follows a closing quote. Any other quote belongs to the string. */
const AFTER_TEXT = /^\s*(?:[,:}\]]|\/[/*]|$)/;

/** The index after the text that begins with the quote at `start`; undefined if the text does not end. */
function endOfText(text: string, start: number, isStrict: boolean): number | undefined {
  const quote = text[start];
  for (let at = start + 1; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    // Models forget to escape quotes in a text.
    else if (text[at] === quote && (isStrict || AFTER_TEXT.test(text.slice(at + 1, at + 40)))) return at + 1;
  }
  return undefined;
}

/** The index after the object or list that begins at `start`; undefined if it does not end. */
function endOfBrackets(text: string, start: number, isStrict: boolean): number | undefined {
  const open: string[] = [];
  /** True if a string can begin here: an apostrophe within a word opens none. */
  let canBegin = true;
  for (let at = start; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '"' || (character === "'" && !isStrict && canBegin)) {
      const end = endOfText(text, at, isStrict);
      if (end === undefined) return undefined;
      at = end - 1;
    } else if (OPEN.includes(character)) open.push(character);
    else if (CLOSE.includes(character)) {
      if (OPEN.indexOf(open.pop() ?? '') !== CLOSE.indexOf(character)) return undefined;
      if (open.length === 0) return at + 1;
    }
    if (character.trim() !== '') canBegin = '{[,:('.includes(character);
  }
  return undefined;
}

/** The text with the brackets that are missing at its end, such as a call's last one. */
export function withEnd(text: string): string {
  const open: string[] = [];
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '"') {
      const end = endOfText(text, at, false);
      if (end === undefined) return text;
      at = end - 1;
    } else if (OPEN.includes(character)) open.push(CLOSE[OPEN.indexOf(character)] ?? '');
    else if (CLOSE.includes(character)) open.pop();
  }
  return text + open.toReversed().join('');
}

/** Extent of the object or list that begins at `start`; undefined if it is cut. */
function extentOf(text: string, start: number): Extent | undefined {
  const strict = endOfBrackets(text, start, true);
  if (strict !== undefined && parseJson(text.slice(start, strict)) !== undefined)
    return { end: strict, isStrict: true };
  const end = endOfBrackets(text, start, false);
  return end === undefined ? undefined : { end, isStrict: false };
}

/** JSON rejects the backslashes in a pattern or a Windows path. */
const STRAY_BACKSLASH = /\\(?:(\\)|(?!["\\/bfnrtu'\n]|u[0-9a-fA-F]{4}))/g;

/** The value of complete but invalid JSON, such as with single quotes or a comma at the end; undefined if it is not JSON. */
function repaired(text: string): unknown {
  // A left out part is not a value.
  if (/\.\.\.\s*[\]}]/.test(text)) return undefined;
  try {
    const escaped = text.replaceAll(STRAY_BACKSLASH, (found, second?: string) =>
      second === undefined ? '\\\\' : found,
    );
    return parseJson(jsonrepair(escaped));
  } catch {
    return undefined;
  }
}

export interface LenientJson {
  value: unknown;
  /** True if the text was not valid JSON. */
  isRepaired: boolean;
  /** The text after the value. */
  rest: string;
}

/** The object or list that begins at `start`; undefined if it is cut or is not JSON. */
export function jsonAt(text: string, start: number): LenientJson | undefined {
  const extent = extentOf(text, start);
  if (extent === undefined) return undefined;
  const found = text.slice(start, extent.end);
  const value = extent.isStrict ? parseJson(found) : repaired(found);
  return value === undefined ? undefined : { value, isRepaired: !extent.isStrict, rest: text.slice(extent.end) };
}

/** A fence around the whole text. */
const FENCE = /^(?:```|~~~)[^\n`]*\n([\s\S]*?)\n?\s*(?:```|~~~)\s*$/;

/** The content of a text that is one fenced block; otherwise the text. */
export const withoutFence = (text: string): string => FENCE.exec(text.trim())?.[1] ?? text;
