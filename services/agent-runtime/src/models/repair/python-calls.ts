import { parseJson } from '@uswarm/service-kit';
import { jsonrepair } from 'jsonrepair';
import { jsonAt } from './lenient-json.js';

// Calls in the form of Python, such as `[search(query="one", limit=3)]`.

/** A call that a model wrote as text. */
export interface TextCall {
  /** As the model wrote it. */
  name: string;
  /** JSON, or what the model wrote instead. */
  input: string;
  /** True if no key marks the arguments: it is a tool call only if they match the schema. */
  isLoose?: boolean;
}

const OPEN = '([{';
const CLOSE = ')]}';

/** The index after the text between quotes that begins at `start`; undefined if it does not end. */
function endOfQuotes(text: string, start: number): number | undefined {
  const quote = text.startsWith(text.slice(start, start + 1).repeat(3), start)
    ? text.slice(start, start + 3)
    : text.slice(start, start + 1);
  for (let at = start + quote.length; at < text.length; at += 1) {
    if (text[at] === '\\') at += 1;
    else if (text.startsWith(quote, at)) return at + quote.length;
  }
  return undefined;
}

/** Text parts between commas that are not within brackets or quotes; undefined if these do not end. */
function partsOf(text: string): string[] | undefined {
  const parts: string[] = [];
  let depth = 0;
  let from = 0;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    if (character === '"' || character === "'") {
      const end = endOfQuotes(text, at);
      if (end === undefined) return undefined;
      at = end - 1;
    } else if (OPEN.includes(character)) depth += 1;
    else if (CLOSE.includes(character)) depth -= 1;
    else if (character === ',' && depth === 0) {
      parts.push(text.slice(from, at));
      from = at + 1;
    }
    if (depth < 0) return undefined;
  }
  if (depth !== 0) return undefined;
  return [...parts, text.slice(from)].map((part) => part.trim()).filter((part) => part !== '');
}

/** A literal as a value of JSON; undefined if it is none. */
function valueOf(literal: string): unknown {
  const bare = literal.replace(/^(["'])\1\1([\s\S]*)\1{3}$/, (_all, _quote, text: string) => JSON.stringify(text));
  if (!/^["'[{\d+.-]|^(?:true|false|none|null)$/i.test(bare)) return undefined;
  if (/^(?:none|null)$/i.test(bare)) return null;
  if (/^(?:true|false)$/i.test(bare)) return bare.toLowerCase() === 'true';
  try {
    return parseJson(bare) ?? parseJson(jsonrepair(bare));
  } catch {
    return undefined;
  }
}

const CALL = /^(?:await\s+)?([\p{L}_][\p{L}\p{N}_.-]*)\s*\(([\s\S]*)\)$/u;

function callOf(text: string): TextCall | undefined {
  const [, name = '', inner = ''] = CALL.exec(text) ?? [];
  if (name === '') return undefined;
  if (name === 'print') return callOf(inner.trim());
  const only = inner.trim().startsWith('{') ? jsonAt(inner.trim(), 0) : undefined;
  if (only !== undefined && only.rest.trim() === '') return { name, input: JSON.stringify(only.value) };
  const fields: [string, unknown][] = [];
  for (const part of partsOf(inner) ?? ['']) {
    const [, key = '', literal = ''] = /^([\p{L}_][\p{L}\p{N}_]*)\s*=(?!=)\s*([\s\S]+)$/u.exec(part) ?? [];
    const value = valueOf(literal);
    if (key === '' || value === undefined) return undefined;
    fields.push([key, value]);
  }
  return { name, input: JSON.stringify(Object.fromEntries(fields)) };
}

/** The calls in a text that only has calls in the form of Python; undefined if it has anything else. */
export function pythonCalls(text: string): TextCall[] | undefined {
  const bare = text.trim();
  const list = bare.startsWith('[') && bare.endsWith(']') ? bare.slice(1, -1) : bare;
  const lines = list === bare ? bare.split(/\n(?=[\p{L}_])/u) : [list];
  const parts = lines
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map(partsOf);
  if (parts.length === 0 || parts.some((one) => one === undefined)) return undefined;
  const calls = parts
    .flatMap((one) => one ?? [])
    .map((part) => callOf(part.replace(/^\w+\s*=\s*(?=[\p{L}_][\p{L}\p{N}_.]*\()/u, '')));
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}
