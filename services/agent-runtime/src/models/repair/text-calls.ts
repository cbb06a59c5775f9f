import { isObject, type Json } from './json.js';
import { jsonAt, withEnd, withoutFence } from './lenient-json.js';
import { pythonCalls, type TextCall } from './python-calls.js';
import { toolNameOf } from './tool-names.js';

// Calls that a model wrote as text.

const NAME_KEYS = [
  'name',
  'tool',
  'tool_name',
  'toolname',
  'function',
  'function_name',
  'recipient_name',
  'action',
  'api',
];
const INPUT_KEYS = [
  'arguments',
  'parameters',
  'args',
  'input',
  'params',
  'kwargs',
  'tool_input',
  'toolinput',
  'action_input',
  'function_args',
  'tool_arguments',
  'parameter',
  'argument',
  'inputs',
];
const LIST_KEYS = ['tool_calls', 'toolcalls', 'calls', 'function_calls', 'tool_uses', 'actions', 'tools'];
/** A tool call may have these keys beside name and arguments. */
const OTHER_KEYS = new Set(['id', 'type', 'call_id', 'tool_call_id', 'index', 'thought', 'reasoning', 'description']);

const keyIn = (value: Json, keys: readonly string[]): string | undefined =>
  Object.keys(value).find((key) => keys.includes(key.toLowerCase()));

const jsonOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? {}));

/** The calls that a value of JSON describes; undefined if it is something else. */
export function callsOf(value: unknown): TextCall[] | undefined {
  if (Array.isArray(value)) {
    const calls = value.map(callsOf);
    return calls.length > 0 && calls.every((one) => one !== undefined) ? calls.flat() : undefined;
  }
  if (!isObject(value)) return undefined;
  const list = keyIn(value, LIST_KEYS);
  const isOnlyList = Object.keys(value).every(
    (key) =>
      key === list || OTHER_KEYS.has(key.toLowerCase()) || value[key] === null || key === 'content' || key === 'role',
  );
  if (list !== undefined && Array.isArray(value[list]) && isOnlyList) return callsOf(value[list]);
  const nested = Object.entries(value).find(
    ([key, one]) => isObject(one) && /^(?:function|tool|tool_call|function_call|call)$/i.test(key),
  );
  if (nested !== undefined && callsOf(nested[1]) !== undefined) return callsOf(nested[1]);
  const nameKey = keyIn(value, NAME_KEYS);
  const name = nameKey === undefined ? undefined : value[nameKey];
  if (nameKey === undefined || typeof name !== 'string') return keyedCalls(value);
  const inputKey = keyIn(
    value,
    INPUT_KEYS.filter((key) => key !== nameKey),
  );
  const rest = Object.keys(value).filter(
    (key) =>
      key !== nameKey &&
      key !== inputKey &&
      !OTHER_KEYS.has(key.toLowerCase()) &&
      keyIn({ [key]: null }, NAME_KEYS) === undefined,
  );
  if (rest.length > 0 && inputKey !== undefined) return undefined;
  // A dictionary entry has a name, too.
  if (inputKey === undefined && keyIn(value, ['description']) !== undefined) return undefined;
  return [
    {
      name,
      input:
        inputKey === undefined
          ? JSON.stringify(Object.fromEntries(rest.map((key) => [key, value[key]])))
          : jsonOf(value[inputKey]),
      ...(inputKey === undefined ? { isLoose: true } : {}),
    },
  ];
}

/** Arguments, each under the name of its tool. */
function keyedCalls(value: Json): TextCall[] | undefined {
  const entries = Object.entries(value);
  if (entries.length === 0 || !entries.every(([, input]) => isObject(input))) return undefined;
  return entries.map(([name, input]) => ({ name, input: JSON.stringify(input), isLoose: true }));
}

/** Models leave extra brackets after a call, and a stray end tag. */
const REMAINDER = /^(?:[\s;,\]}]|<\/?[\w:]+>)*$/;

/** All calls in values of JSON that follow each other; undefined if a part is something else. */
function jsonCalls(text: string): TextCall[] | undefined {
  const calls: TextCall[] = [];
  for (let rest = text.trim(); rest !== '';) {
    const found = /^[[{]/.test(rest) ? jsonAt(rest, 0) : undefined;
    const described = found === undefined ? undefined : callsOf(found.value);
    if (found === undefined || described === undefined)
      return calls.length > 0 && REMAINDER.test(rest) ? calls : undefined;
    calls.push(...described);
    rest = found.rest.replace(/^[\s;,]+/, '');
  }
  return calls.length === 0 ? undefined : calls;
}

const FUNCTION =
  /<function(?:=|\s+name=)\s*["']?([^<>"'\n]+?)["']?\s*>([\s\S]*?)(?:<\/function\s*>|(?=<function[=\s])|$)/gi;
const INVOKE =
  /<(?:[a-z]+:)?invoke\s+name=\s*["']?([^<>"'\n]+?)["']?\s*>([\s\S]*?)(?:<\/(?:[a-z]+:)?invoke\s*>|(?=<(?:[a-z]+:)?invoke\s)|$)/gi;
const PARAMETER =
  /<(?:[a-z]+:)?parameter(?:=\s*["']?([^<>"'\n]+?)["']?|\s+name=\s*["']?([^<>"'\n]+?)["']?(?:\s[^<>]*)?)\s*>([\s\S]*?)(?:<\/(?:[a-z]+:)?parameter\s*>|(?=<(?:[a-z]+:)?parameter[\s=])|$)/gi;
const ARG_PAIR = /<arg_key>\s*([\s\S]*?)\s*<\/arg_key>\s*<arg_value>([\s\S]*?)(?:<\/arg_value>|(?=<arg_key>)|$)/gi;

/** A name and its arguments, each between tags. */
const TAGGED =
  /<(?:tool_?name|name|function|tool)>([^<>]+)<\/[^<>]+>\s*<(?:arguments|parameters|args|params|input)>([\s\S]*?)<\/(?:arguments|parameters|args|params|input)>/gi;
/** A tag that has the name. */
const NAMED_TAG = /^\s*<\w+\s+name=["']([^"'<>]+)["'][^<>]*>([\s\S]*)$/;

/** The line breaks around a value belong to its tags. */
const bareValue = (text: string): string => text.replace(/^\r?\n/, '').replace(/\r?\n$/, '');

function parametersOf(body: string): string {
  const pairs = [...body.matchAll(PARAMETER)].map(
    ([, first, second, value = '']) => [first ?? second ?? '', bareValue(value)] as const,
  );
  if (pairs.length > 0) return JSON.stringify(Object.fromEntries(pairs));
  const brackets = body.search(/\{/);
  return brackets < 0 ? (body.trim() === '' ? '{}' : body) : body.slice(brackets).trim();
}

/** Calls in the form of XML. */
function xmlCalls(text: string): TextCall[] | undefined {
  const plain = text.replaceAll(/[|｜‖]{1,2}DSML[|｜‖]{1,2}/g, '');
  const calls = [FUNCTION, INVOKE].flatMap((pattern) =>
    [...plain.matchAll(pattern)].map(([, name = '', body = '']) => ({ name: name.trim(), input: parametersOf(body) })),
  );
  if (calls.length > 0) return calls;
  const tagged = [...plain.matchAll(TAGGED)].map(([, name = '', input = '']) => ({
    name: name.trim(),
    input: input.trim(),
  }));
  if (tagged.length > 0) return tagged;
  const [, inTag, body = ''] = NAMED_TAG.exec(plain) ?? [];
  if (inTag !== undefined) return [{ name: inTag, input: parametersOf(body.replace(/<\/[^<>]*>\s*$/, '')) }];
  if (!/<arg_key>/i.test(plain)) return undefined;
  return plain
    .split(/<\/?tool_call>/i)
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [name = ''] = part.split(/<arg_key>/i);
      const pairs = [...part.matchAll(ARG_PAIR)].map(([, key = '', value = '']) => [key, bareValue(value)] as const);
      return { name: name.trim(), input: JSON.stringify(Object.fromEntries(pairs)) };
    });
}

const OPENED = /<\|open\|>tools?_?call\s+tool="([^"]+)"[^<]*<\|sep\|>([\s\S]*?)(?=<\|open\|>tools?_?call|$)/g;
const OPENED_ARGUMENT =
  /<\|open\|>argument\s+key="([^"]+)"[^<]*<\|sep\|>([\s\S]*?)(?:<\|close\|>argument<\|sep\|>|(?=<\|(?:open|close)\|>)|$)/g;

/** Calls whose tags are tokens. */
function openedCalls(text: string): TextCall[] | undefined {
  const calls = [...text.matchAll(OPENED)].map(([, name = '', body = '']) => ({
    name,
    input: JSON.stringify(
      Object.fromEntries([...body.matchAll(OPENED_ARGUMENT)].map(([, key = '', value = '']) => [key, value])),
    ),
  }));
  return calls.length > 0 ? calls : undefined;
}

const SEPARATOR = '\u0000';
const NAMED = /([\p{L}\p{N}_][\p{L}\p{N}_.:/-]*)[\s\u0000:=(]*(?:```(?:json)?\s*)?(?=[[{])/gu;

/** Calls as names, each before its arguments. */
function namedCalls(text: string): TextCall[] | undefined {
  const marked = text
    .replaceAll(/<\|"(?:\|?)>/g, '"')
    .replaceAll(/\[(?:ARGS|CALL_ID)\](?:[\w-]{9}(?=\[ARGS\]))?/g, SEPARATOR)
    .replaceAll(/<[|｜‖]{1,2}[^<>]*[|｜‖]{1,2}>|✿[A-Z]+✿:?/gu, SEPARATOR);
  const calls: TextCall[] = [];
  for (let index = 0; ;) {
    NAMED.lastIndex = index;
    const found = NAMED.exec(marked);
    if (found === null) break;
    const start = found.index + found[0].length;
    const value = jsonAt(marked, start);
    if (value === undefined) return undefined;
    calls.push({ name: (found[1] ?? '').replace(/^call:/, ''), input: jsonOf(value.value) });
    index = marked.length - value.rest.length;
  }
  if (calls.length > 0) return calls;
  // A call without arguments.
  const only = /^[\s\u0000]*(?:function\u0000)?([\p{L}\p{N}_.:/-]+)[\s\u0000]*$/u.exec(marked);
  return only === null ? undefined : [{ name: only[1] ?? '', input: '{}' }];
}

const unwrapped = (text: string): string =>
  withoutFence(
    text
      .replace(/^\s*(?:\[TOOL_(?:CALLS|REQUEST)\]|<[|｜‖]{0,2}[\p{L}_:▁-]+(?:\s[^<>]*)?[|｜‖]{0,2}>)\s*/u, '')
      .replace(/\s*(?:<\/s>|<\/[\p{L}_:-]+>)\s*$/u, ''),
  ).trim();

/**
 * The calls in a text with a call's form.
 *
 * @param isClosed whether its end follows, so that only brackets can be missing
 * @returns undefined if it cannot be read
 */
export function readCalls(text: string, isClosed = false): TextCall[] | undefined {
  const opened = openedCalls(text);
  if (opened !== undefined) return opened;
  const xml = xmlCalls(text);
  if (xml !== undefined) return xml;
  const bare = unwrapped(text);
  if (bare === '') return [];
  return (
    jsonCalls(bare) ??
    jsonCalls(withoutFence(unwrapped(bare))) ??
    (isClosed ? jsonCalls(withEnd(bare)) : undefined) ??
    pythonCalls(bare) ??
    namedCalls(bare)
  );
}

/** The name that a call which cannot be read begins with. */
export const nameIn = (text: string, offered: ReadonlySet<string>): string | undefined =>
  [...text.matchAll(/[\p{L}\p{N}_.:-]{2,100}/gu)]
    .map(([word]) => toolNameOf(word, offered))
    .find((name) => name !== undefined);

const CALL_START = /<(?:tool_call|function=|[|｜]tool[_▁]calls?)/giu;

/** The calls at the end of thoughts that do not end, which some models write into them. */
export function callsAfterThoughts(thoughts: string, offered: ReadonlySet<string>): TextCall[] {
  const start = [...thoughts.matchAll(CALL_START)].at(-1)?.index;
  const written = start === undefined ? '' : thoughts.slice(start).trim();
  const calls = written.endsWith('>') ? readCalls(written) : undefined;
  return calls?.every(({ name }) => toolNameOf(name, offered) !== undefined) === true ? calls : [];
}

/** Returns the tool calls inside a call's arguments, such as parallel calls in one wrapper; undefined without any. */
export function nestedCalls(input: string, offered: ReadonlySet<string>): TextCall[] | undefined {
  const start = input.search(/[[{]/);
  const calls = start < 0 ? undefined : callsOf(jsonAt(input, start)?.value);
  return calls?.every(({ name }) => toolNameOf(name, offered) !== undefined) === true ? calls : undefined;
}
