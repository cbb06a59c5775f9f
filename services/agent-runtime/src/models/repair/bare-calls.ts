import type { FunctionTool } from '../port.js';
import { argumentsFor } from './arguments.js';
import { jsonAt } from './lenient-json.js';
import { pythonCalls, type TextCall } from './python-calls.js';
import { callsOf, readCalls } from './text-calls.js';
import { toolNameOf } from './tool-names.js';

// Calls that a model wrote as a plain or fenced object, without the marks of its template.

/** Characters of other text beside calls. A longer text explains something. */
const MAX_WORDS = 500;

const FENCES = /^[ \t]*(`{3,}|~{3,})[ \t]*([\w-]*)[^\n`]*\n([\s\S]*?)(?:\n[ \t]*\1`*[ \t]*(?=\n|$)|$(?![\s\S]))/gmu;
const LANGUAGES = new Set([
  '',
  'json',
  'jsonc',
  'json5',
  'tool_call',
  'tool_calls',
  'tool-call',
  'tool_code',
  'tool',
  'tools',
  'function',
  'function_call',
  'xml',
  'text',
  'plaintext',
  'python',
  'py',
]);
const PYTHON = new Set(['tool_code', 'tool_call', 'tool', 'python', 'py', '']);

export interface BareCalls {
  calls: TextCall[];
  /** The text without them. */
  text: string;
}

interface Span {
  start: number;
  end: number;
  calls: TextCall[];
}

function fencedSpans(text: string): Span[] {
  return [...text.matchAll(FENCES)].flatMap(({ 0: whole, 2: language = '', 3: body = '', index }) => {
    if (!LANGUAGES.has(language.toLowerCase())) return [];
    const isPython = PYTHON.has(language.toLowerCase());
    const isMarked = /<(?:[a-z]+:)?(?:tool_?calls?|function|invoke)/i.test(body);
    const json = /^\s*[[{]/.test(body) || isMarked ? readCalls(body) : undefined;
    const calls = json ?? (isPython ? pythonCalls(body) : undefined);
    return calls === undefined ? [] : [{ start: index, end: index + whole.length, calls }];
  });
}

/** The start of a line before an object, with words that announce a call. */
const LINE_START = /(?:^|\n)[ \t]*(?:functools|json\s+|<?\/?(?:tool|function)s?(?:[ _]?calls?)?[>:]*\s*)?(?=[[{])/gi;
/** Tags without a text. */
const EMPTY = /^(?:\s|<\/?[\w:-]+>)*$/;

/** Objects and lists at the start of a line. */
function plainSpans(text: string): Span[] {
  const spans: Span[] = [];
  for (const { 0: head, index } of text.matchAll(LINE_START)) {
    const from = index + head.length;
    const value = from < (spans.at(-1)?.end ?? 0) ? undefined : jsonAt(text, from);
    const calls = value === undefined ? undefined : callsOf(value.value);
    if (value === undefined || calls === undefined) continue;
    spans.push({ start: index + (head.startsWith('\n') ? 1 : 0), end: text.length - value.rest.length, calls });
  }
  return spans;
}

/** `Action: name` and `Action Input: {…}`, each on a line. */
const ACTION = /^[ \t]*Action:[ \t]*([^\n]+)\n[ \t]*Action Input:[ \t]*/gm;

function actionSpans(text: string): Span[] {
  return [...text.matchAll(ACTION)].flatMap(({ 0: head, 1: name = '', index }) => {
    const value = jsonAt(text, index + head.length);
    if (value === undefined) return [];
    // What follows is the result that the model invents.
    return [{ start: index, end: text.length, calls: [{ name: name.trim(), input: JSON.stringify(value.value) }] }];
  });
}

/** A name of a tool and its arguments, as the whole text. */
function wholeSpan(text: string, offered: ReadonlySet<string>): Span[] {
  const bare = text.trim();
  const [, name = '', rest = ''] = /^([\p{L}\p{N}_.:-]+)\s*(?=[({[])([\s\S]*)$/u.exec(bare) ?? [];
  const isOffered = toolNameOf(name, offered) !== undefined || /^\[\s*[\p{L}_]/u.test(bare);
  const found = isOffered ? pythonCalls(bare) : undefined;
  if (found !== undefined) return [{ start: 0, end: text.length, calls: found }];
  const value = name !== '' && isOffered && rest.startsWith('{') ? jsonAt(rest, 0) : undefined;
  if (value === undefined || value.rest.trim() !== '') return [];
  return [{ start: 0, end: text.length, calls: [{ name, input: JSON.stringify(value.value) }] }];
}

/** The keys with which a call can begin. */
const KEYS =
  /^"?(?:name|tool|tool_name|function|function_name|type|tool_calls|action|recipient_name|id|arguments|parameters)"?\s*:/;

/**
 * The calls of offered tools in a text that otherwise has few words; undefined if the text is for the user, such as JSON that the
 * user asked for.
 */
export function bareCalls(text: string, tools: readonly FunctionTool[]): BareCalls | undefined {
  if (tools.length === 0 || !/[{(]/.test(text)) return undefined;
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const names = new Set(offered.keys());
  const fits = ({ name, input }: TextCall): boolean => {
    const tool = offered.get(toolNameOf(name, names) ?? '');
    return tool !== undefined && argumentsFor(tool, input) !== undefined;
  };
  const fenced = fencedSpans(text);
  const all = [fenced, fenced.length > 0 ? [] : plainSpans(text), actionSpans(text), wholeSpan(text, names)];
  const spans = all.find((some) => some.length > 0 && some.every(({ calls }) => calls.length > 0 && calls.every(fits)));
  if (spans === undefined) return undefined;
  let rest = '';
  let from = 0;
  for (const { start, end } of spans) {
    rest += text.slice(from, start);
    from = end;
  }
  rest = (rest + text.slice(from)).trim();
  if (EMPTY.test(rest)) rest = '';
  return rest.length > MAX_WORDS ? undefined : { calls: spans.flatMap(({ calls }) => calls), text: rest };
}

const FIRST = /^(?:(?:`{3,}|~{3,})[ \t]*([\w-]*)[^\n`]*\n\s*)?(?:functools)?(?:\[\s*)?\{+\s*/;
const PARTIAL_FENCE = /^(?:`{1,}|~{1,})[ \t]*[\w-]*$/;
const MAX_HELD = 20_000;

/** Whether the text of a step so far can be a call, so that it is not shown yet. */
export function canBeCall(text: string, offered: ReadonlySet<string>): boolean {
  const bare = text.trimStart();
  if (offered.size === 0 || bare === '' || bare.length > MAX_HELD) return false;
  const language = /^(?:`{3,}|~{3,})[ \t]*([\w-]*)/.exec(bare)?.[1]?.toLowerCase();
  if (language !== undefined && !LANGUAGES.has(language) && bare.includes('\n')) return false;
  if (PARTIAL_FENCE.test(bare)) return true;
  const first = FIRST.exec(bare);
  const body = first === null ? bare : bare.slice(first[0].length);
  if (first === null) {
    const isFenced = language !== undefined;
    const content = isFenced ? bare.slice(bare.indexOf('\n') + 1).trimStart() : bare;
    if (isFenced && (content === '' || content === '[' || language === 'tool_code' || language === 'tool_call'))
      return true;
    return content === '[' || 'functools[{'.startsWith(content) || isNameStart(content, offered);
  }
  // The key and the name of the call.
  if (body.length < 18 && !/[:}]/.test(body)) return /^["']?\w*["']?\s*$/.test(body);
  if (!KEYS.test(body.replace(/^'(\w+)'/, '"$1"'))) return false;
  const name =
    /^["']?(?:name|tool|tool_name|function_name|action|recipient_name)["']?\s*:\s*["']([^"'\n]*)(["'])?/.exec(body);
  if (name === null) return true;
  const [, value = '', end] = name;
  return end === undefined
    ? [...offered].some(
        (one) => value.length < 120 && (one.startsWith(value) || value.includes('.') || one.includes(value)),
      )
    : toolNameOf(value, offered) !== undefined;
}

/** A name of a tool before its arguments. */
function isNameStart(content: string, offered: ReadonlySet<string>): boolean {
  const bare = content.replace(/^\[\s*/, '');
  return [...offered].some(
    (name) => name.startsWith(bare) || (bare.startsWith(name) && /^\s*[({]/.test(bare.slice(name.length))),
  );
}
