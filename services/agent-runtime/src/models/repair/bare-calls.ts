import type { FunctionTool } from '../port.js';
import { argumentsFor, fitsSchema } from './arguments.js';
import { isObject, type Json } from './json.js';
import { jsonAt } from './lenient-json.js';
import { pythonCalls, type TextCall } from './python-calls.js';
import { callsOf, readCalls } from './text-calls.js';
import { toolNameOf } from './tool-names.js';

// Finds tool calls that a model wrote as a plain or fenced object, without its template's special tokens.

/** Characters of other text, if it goes on after the calls. A longer text explains something. */
const MAX_WORDS = 500;
/** Characters beside a call that tell whether it is an example. */
const NEAR = 120;
/** Words beside a call that only shows what a call is. */
const EXAMPLE =
  /\b(?:(?:an?|the|this|one|another|sample) examples?|for example|examples?(?=:)|for instance|e\.g\.|(?:sample|example) (?:tool |function )?calls?|looks? like|would look|(?:this|it|that) would|the (?:format|syntax|structure) (?:is|of|for)|ejemplo|exemple|esempio|exemplo)\b|beispiel|пример|例如|示例|例えば|예시|예를 들/iu;

const FENCES =
  /^[ \t]*(?:Action:\s*)?(`{3,}|~{3,})[ \t]*([\w-]*)[^\n`]*\n([\s\S]*?)(?:\n[ \t]*\1`*[ \t]*(?=\n|$)|(?<=[\]}>])\1[ \t]*(?=\n|$)|$(?![\s\S]))/gmu;
const LANGUAGES = new Set([
  '',
  'json',
  'jsonc',
  'json5',
  'tool_call',
  'tool_calls',
  'tool-call',
  'tool_code',
  'tool_use',
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

function fencedSpans(text: string, offered: ReadonlySet<string>): Span[] {
  return [...text.matchAll(FENCES)].flatMap(({ 0: whole, 2: language = '', 3: body = '', index }) => {
    const span = (calls: TextCall[]): Span[] => [{ start: index, end: index + whole.length, calls }];
    if (offered.has(language)) return span([{ name: language, input: body, isLoose: true }]);
    if (!LANGUAGES.has(language.toLowerCase())) return [];
    const isPython = PYTHON.has(language.toLowerCase());
    const isMarked = /<(?:[a-z]+:)?(?:tool_?calls?|function|invoke)/i.test(body);
    const read = /^\s*[[{]/.test(body) || isMarked ? readCalls(body) : undefined;
    const calls = read ?? (isPython ? pythonCalls(body) : undefined) ?? tagCalls(body, offered);
    return calls === undefined ? [] : span(calls);
  });
}

/** The text with spaces instead of code, so that places stay the same. */
const withoutFences = (text: string): string => text.replaceAll(FENCES, (code) => code.replaceAll(/[^\n]/g, ' '));

/** The line start before an object, or words before it in the line. */
const LINE_START =
  /(?:^|\n)[ \t]*(?:functools|json\s+|<?\/?(?:tool|function)s?(?:[ _]?calls?)?[>:]*\s*)?(?=[[{])|[:.!][ \t]+(?=\{\s*["'](?:name|tool|tool_name|function)["']\s*:)/gi;
/** Bounds the search: it ends after this many objects that are not calls, and skips longer texts. */
const MAX_STARTS = 16;
const MAX_TEXT = 200_000;

/** Objects and lists at a line start, or that follow each other. */
function plainSpans(text: string): Span[] {
  const spans: Span[] = [];
  let failed = 0;
  for (const { 0: head, index } of text.matchAll(LINE_START)) {
    const start = index + head.search(/(?![\n:.!])/);
    for (let from = index + head.length; failed < MAX_STARTS && from >= (spans.at(-1)?.end ?? 0);) {
      const value = jsonAt(text, from);
      const calls = value === undefined ? undefined : callsOf(value.value);
      if (value === undefined || calls === undefined) {
        failed += 1;
        break;
      }
      const last = spans.at(-1);
      const end = text.length - value.rest.length;
      if (last !== undefined && last.start === start) Object.assign(last, { end, calls: [...last.calls, ...calls] });
      else spans.push({ start, end, calls });
      const next = /^\s*[;,]\s*(?=[[{])/.exec(value.rest);
      if (next === null) break;
      from = end + next[0].length;
    }
  }
  return spans;
}

/** An element's value: an object, or elements that each have a field. */
function fieldsIn(body: string): string | undefined {
  const bare = body.trim();
  if (bare.startsWith('{')) return bare;
  const fields: [string, string][] = [];
  for (let rest = bare; rest !== '';) {
    const [open = '', name = ''] = /^<([a-z_]\w*)>/i.exec(rest) ?? [];
    const end = name === '' ? -1 : rest.indexOf(`</${name}>`);
    if (end < 0) return undefined;
    fields.push([
      name,
      rest
        .slice(open.length, end)
        .replace(/^\r?\n/, '')
        .replace(/\r?\n$/, ''),
    ]);
    rest = rest.slice(end + name.length + '</>'.length).trimStart();
  }
  return JSON.stringify(Object.fromEntries(fields));
}

/** Elements that are named as an offered tool. */
function elementSpans(text: string, offered: ReadonlySet<string>): Span[] {
  const spans: Span[] = [];
  for (const name of offered) {
    for (let from = 0; from >= 0;) {
      const start = text.indexOf(`<${name}`, from);
      if (start < 0) break;
      const [opening = ''] = /^<[\w.:-]+\s*\/?>/.exec(text.slice(start, start + name.length + 8)) ?? [];
      from = start + Math.max(1, opening.length);
      if (!opening.startsWith(`<${name}`) || !/^<[\w.:-]+[\s/>]/.test(opening.replace(`<${name}`, '<x'))) continue;
      const isEmpty = opening.endsWith('/>');
      const end = isEmpty ? from : text.indexOf(`</${name}>`, from);
      if (end < 0) break;
      const input = isEmpty ? '{}' : fieldsIn(text.slice(from, end));
      from = isEmpty ? end : end + name.length + '</>'.length;
      if (input !== undefined) spans.push({ start, end: from, calls: [{ name, input, isLoose: true }] });
    }
  }
  return spans.toSorted((one, other) => one.start - other.start);
}

function tagCalls(text: string, offered: ReadonlySet<string>): TextCall[] | undefined {
  const calls = elementSpans(text, offered).flatMap((span) => span.calls);
  return calls.length === 0 ? undefined : calls;
}

/** `Action: name` and `Action Input: {…}`, each on a line. */
const ACTION = /^[ \t]*Action:[ \t]*([^\n]+)\n[ \t]*Action Input:[ \t]*/gm;

function actionSpans(text: string): Span[] {
  return [...text.matchAll(ACTION)].flatMap(({ 0: head, 1: name = '', index }) => {
    const value = jsonAt(text, index + head.length);
    if (value === undefined) return [];
    // The model invents the result after the call.
    return [{ start: index, end: text.length, calls: [{ name: name.trim(), input: JSON.stringify(value.value) }] }];
  });
}

/** Some templates put these tokens before a tool name. */
const WHOLE = /^(?:>>>|<<function>>|\[(?:tool[ _]call:|call(?:ing)?(?: tool)?:?))\s*/i;

/** A tool name and its arguments, as the whole text. */
function wholeSpan(text: string, offered: ReadonlySet<string>): Span[] {
  const trimmed = text.trim();
  const head = WHOLE.exec(trimmed)?.[0] ?? '';
  const bare = trimmed.slice(head.length, head.startsWith('[') && trimmed.endsWith(']') ? -1 : undefined);
  const [, name = '', rest = ''] = /^([\p{L}\p{N}_.:-]+?)(?:\s+with)?\s*(?=[({[])([\s\S]*)$/u.exec(bare) ?? [];
  const isOffered = toolNameOf(name, offered) !== undefined || /^\[\s*[\p{L}_]/u.test(bare);
  const found = isOffered ? pythonCalls(bare) : undefined;
  if (found !== undefined) return [{ start: 0, end: text.length, calls: found }];
  const value = name !== '' && isOffered && rest.startsWith('{') ? jsonAt(rest, 0) : undefined;
  if (value === undefined || value.rest.trim() !== '') return [];
  return [{ start: 0, end: text.length, calls: [{ name, input: JSON.stringify(value.value) }] }];
}

/** Tags and words around a call that say nothing without it. */
const WRAPPER = String.raw`<\/?(?:tools?|functions?|(?:use_)?(?:mcp_)?tool[ _-]?\w*|function[ _]?\w*|actions?|calls?|xml|json)>`;
const BEFORE = new RegExp(String.raw`(?:${WRAPPER}\s*|(?:^|\n)Action:\s*)+$`, 'i');
const AFTER = new RegExp(String.raw`^(?:\s*${WRAPPER})+`, 'i');
const EMPTY_PAIR = /<(tools?|tool_calls?|function_calls?)>\s*<\/\1>/gi;

/** The text without the calls; undefined if it explains them. */
function wordsBeside(text: string, spans: readonly Span[]): string | undefined {
  const words: string[] = [];
  let from = 0;
  for (const { start, end } of [...spans, { start: text.length, end: text.length }]) {
    const before = text.slice(from, start);
    if (EXAMPLE.test(before.slice(-NEAR)) || (from > 0 && EXAMPLE.test(before.slice(0, NEAR)))) return undefined;
    const lead = before.slice(-NEAR).replace(BEFORE, '');
    const bare = before.slice(0, -NEAR) + lead;
    words.push((from === 0 ? bare : bare.replace(AFTER, '')).replaceAll(EMPTY_PAIR, '').trim());
    from = end;
  }
  const all = words.filter((part) => part !== '').join('\n');
  return words.at(-1) !== '' && all.length > MAX_WORDS ? undefined : all;
}

/** True if the arguments describe a type, as a tool definition does. */
const isDefinition = (input: Json): boolean =>
  isObject(input['properties']) ||
  Object.values(input).some((value) => isObject(value) && typeof value['type'] === 'string');

/** The keys with which a call can begin. */
const KEYS =
  /^"?(?:name|tool|tool_name|function|function_name|type|tool_calls|action|recipient_name|id|arguments|parameters)"?\s*:/;

/**
 * Returns the tool calls in a text that otherwise has few words; undefined if the text is for the user, such as JSON that the user
 * asked for.
 */
export function bareCalls(text: string, tools: readonly FunctionTool[]): BareCalls | undefined {
  if (tools.length === 0 || text.length > MAX_TEXT || !/[{(<]/.test(text)) return undefined;
  const offered = new Map(tools.map((tool) => [tool.name, tool]));
  const names = new Set(offered.keys());
  const fits = ({ name, input, isLoose = false }: TextCall): boolean => {
    const tool = offered.get(toolNameOf(name, names) ?? '');
    const value = tool === undefined ? undefined : argumentsFor(tool, input);
    if (tool === undefined || value === undefined) return false;
    return fitsSchema(tool, value) || !(isLoose || isDefinition(value));
  };
  const plain = withoutFences(text);
  const all = [
    () => fencedSpans(text, names),
    () => plainSpans(plain),
    () => elementSpans(plain, names),
    () => actionSpans(plain),
    () => wholeSpan(text, names),
  ];
  for (const find of all) {
    const spans = find();
    const isCall = spans.length > 0 && spans.every(({ calls }) => calls.length > 0 && calls.every(fits));
    const words = isCall ? wordsBeside(text, spans) : undefined;
    if (words !== undefined) return { calls: spans.flatMap(({ calls }) => calls), text: words };
  }
  return undefined;
}

const FIRST = /^(?:(?:`{3,}|~{3,})[ \t]*([\w-]*)[^\n`]*\n\s*)?(?:functools)?(?:\[\s*)?\{+\s*/;
const PARTIAL_FENCE = /^(?:`{1,}|~{1,})[ \t]*[\w-]*$/;
const MAX_HELD = 20_000;

/** Returns true if the step's text so far can be a tool call, so that it is not shown yet. */
export function canBeCall(text: string, offered: ReadonlySet<string>): boolean {
  const bare = text.trimStart();
  if (offered.size === 0 || bare === '' || bare.length > MAX_HELD) return false;
  const language = /^(?:`{3,}|~{3,})[ \t]*([\w-]*)/.exec(bare)?.[1]?.toLowerCase();
  if (language !== undefined && !LANGUAGES.has(language) && bare.includes('\n')) return false;
  if (PARTIAL_FENCE.test(bare)) return true;
  if (bare.startsWith('<')) return isElementStart(bare, offered);
  const first = FIRST.exec(bare);
  const body = first === null ? bare : bare.slice(first[0].length);
  if (first === null) {
    const isFenced = language !== undefined;
    const content = isFenced ? bare.slice(bare.indexOf('\n') + 1).trimStart() : bare;
    if (isFenced && (content === '' || content === '[' || language === 'tool_code' || language === 'tool_call'))
      return true;
    return content === '[' || 'functools[{'.startsWith(content) || isNameStart(content, offered);
  }
  // Key and name of the call.
  if (body.length < 18 && !/[:}]/.test(body)) return /^["']?\w*["']?\s*$/.test(body);
  const [, key = ''] = /^["']([\w.-]+)["']\s*:/.exec(body) ?? [];
  if (toolNameOf(key, offered) !== undefined) return true;
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

/** A tool name before its arguments. */
function isNameStart(content: string, offered: ReadonlySet<string>): boolean {
  const bare = content.replace(/^\[\s*/, '');
  return [...offered].some(
    (name) => name.startsWith(bare) || (bare.startsWith(name) && /^\s*[({]/.test(bare.slice(name.length))),
  );
}

/** An element that is named as a tool. */
function isElementStart(bare: string, offered: ReadonlySet<string>): boolean {
  return [...offered].some(
    (name) =>
      `<${name}`.startsWith(bare) || /^[\s/>]/.test(bare.startsWith(`<${name}`) ? bare.slice(name.length + 1) : ''),
  );
}
