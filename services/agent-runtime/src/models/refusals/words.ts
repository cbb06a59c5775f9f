import { parseJson } from '@uswarm/service-kit';

/** Servers describe a failure in these fields. Other fields can quote the request. */
const SAID = ['message', 'msg', 'detail', 'details', 'description', 'error_description', 'title', 'reason', 'param'];
const NESTED = ['error', 'errors', 'detail', 'details', 'body', 'metadata', 'raw', 'cause', 'fault', 'response'];
const NAMED = ['type', 'code', 'status', 'error_code', 'error_type'];
const MAX_DEPTH = 6;
const MAX_CHARACTERS = 4_000;

type Json = Record<string, unknown>;

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== '';

/** JSON inside a text, as gateways pass on a provider's response. */
function unwrapped(text: string): unknown {
  const start = text.search(/[[{]/);
  if (start < 0 || !/^[^a-z]*[[{]/i.test(text)) return undefined;
  const parsed = parseJson(text.slice(start));
  return isObject(parsed) ? parsed : undefined;
}

function linesOf(value: unknown, depth: number): string[] {
  if (depth > MAX_DEPTH) return [];
  if (isText(value)) {
    const inner = unwrapped(value);
    return inner === undefined ? [value] : linesOf(inner, depth + 1);
  }
  if (Array.isArray(value)) return value.flatMap((one) => linesOf(one, depth + 1));
  if (!isObject(value)) return [];
  const { loc } = value;
  const path = Array.isArray(loc) ? [loc.join('.')] : [];
  const said = SAID.flatMap((name) => (isText(value[name]) ? linesOf(value[name], depth + 1) : []));
  const nested = NESTED.flatMap((name) =>
    SAID.includes(name) && isText(value[name]) ? [] : linesOf(value[name], depth + 1),
  );
  const named = NAMED.flatMap((name) =>
    ['string', 'number'].includes(typeof value[name]) ? [String(value[name])] : [],
  );
  return [[...path, ...said].join(' '), ...nested, ...named].filter((line) => line !== '');
}

/**
 * The words in a response that describe a failure, in lower case and without addresses, which can contain words such as
 * `billing`. Fields that quote the request are left out.
 */
export function wordsOf(body: string): string {
  const parsed = parseJson(body);
  const lines = isObject(parsed) ? linesOf(parsed, 0) : [body.replaceAll(/<[^<>]*>/g, ' ')];
  return lines
    .join('\n')
    .slice(0, MAX_CHARACTERS)
    .toLowerCase()
    .replaceAll(/https?:\/\/\S+/g, '');
}

/** A number in one of these fields, at any depth. */
export function numberIn(body: string, names: readonly string[]): number | undefined {
  const find = (value: unknown, depth: number): number | undefined => {
    if (!isObject(value) || depth > MAX_DEPTH) return undefined;
    for (const [name, inner] of Object.entries(value)) {
      const found = names.includes(name) && typeof inner === 'number' ? inner : find(inner, depth + 1);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return find(parseJson(body), 0);
}

/** Words that do not describe a failure's cause. */
const EMPTY_WORDS = new Set(
  (
    'a an and argument bad be been body by can cannot code content could entity error errors exception failed failure for from has ' +
    'have http in input internal invalid invalidrequesterror badrequesterror is it message not null of on or param please process ' +
    'processable processed provider rejected request requesterror response returned server status the this to try again type ' +
    'undefined unknown unprocessable upstream validation value was with your none object false true'
  ).split(' '),
);

/** Returns true if the response names no cause, such as "Bad Request". */
export function isVague(words: string): boolean {
  const left = words.split(/[^a-z]+/).filter((word) => word.length > 1 && !EMPTY_WORDS.has(word));
  return left.length < 2;
}
