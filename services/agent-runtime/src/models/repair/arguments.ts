import { parseJson, storable } from '@uswarm/service-kit';
import type { FunctionTool } from '../port.js';
import { isObject, type Json } from './json.js';
import { jsonAt, withoutFence } from './lenient-json.js';
import {
  accepts,
  choicesOf,
  entryOf,
  partsOf,
  propertyNames,
  propertyOf,
  requiredNames,
  type Schema,
  schemaOf,
  typesOf,
  valuesOf,
} from './schema.js';

// A call's arguments as the tool's schema describes them. Arguments that the schema accepts stay unchanged.

/** How often JSON can be encoded, and wrapped. */
const MAX_LAYERS = 5;

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;
const BOOLEANS = new Map([
  ['true', true],
  ['false', false],
  ['yes', true],
  ['no', false],
  ['1', true],
  ['0', false],
]);
/** Models write these words for a missing value. */
const ABSENT = new Set(['', 'null', 'none', 'undefined', 'nil']);

const SCHEMA_KEYS = new Set(['value', 'type', 'description', 'title']);

const isAbsentText = (value: unknown): boolean => typeof value === 'string' && ABSENT.has(value.trim().toLowerCase());

/** The JSON object or list in a text, without a fence around it; undefined if there is none, or more than one. */
function bracketsIn(text: string): unknown {
  const bare = withoutFence(text).trim();
  return /^[[{]/.test(bare) ? jsonAt(bare, 0)?.value : undefined;
}

const plain = (text: string): string => text.toLowerCase().replaceAll(/[^\p{L}\p{N}]/gu, '');

/** The only allowed value with the same letters and digits. */
function closestOf(values: readonly unknown[], value: unknown): unknown {
  const wanted = plain(String(value));
  const [first, ...others] = values.filter((one) => one !== null && plain(String(one)) === wanted);
  return others.length === 0 && wanted !== '' ? first : undefined;
}

function fromText(text: string, types: readonly unknown[]): unknown {
  const bare = text.trim();
  if ((types.includes('number') || types.includes('integer')) && NUMBER.test(bare)) {
    const number = Number(bare);
    if (Number.isFinite(number) && (types.includes('number') || Number.isInteger(number))) return number;
  }
  if (types.includes('boolean') && BOOLEANS.has(bare.toLowerCase())) return BOOLEANS.get(bare.toLowerCase());
  const value = bracketsIn(bare);
  if (types.includes('array') && Array.isArray(value)) return value;
  return types.includes('object') && isObject(value) ? value : undefined;
}

/** The value in the type that the schema demands; undefined if it has no such value. */
function converted(schema: Schema, value: unknown): unknown {
  const values = valuesOf(schema);
  if (values !== undefined && ['string', 'number', 'boolean'].includes(typeof value)) return closestOf(values, value);
  const types = typesOf(schema) ?? [];
  const read = typeof value === 'string' ? fromText(value, types) : undefined;
  if (read !== undefined) return read;
  if (types.includes('boolean') && typeof value === 'number') return BOOLEANS.get(String(value));
  if (types.includes('string') && (typeof value === 'number' || typeof value === 'boolean')) return String(value);
  if (types.includes('array') && !Array.isArray(value)) {
    if (isAbsentText(value) || (isObject(value) && Object.keys(value).length === 0)) return [];
    const [only, ...others] = isObject(value) ? Object.values(value) : [];
    // A list in the form of XML.
    return Array.isArray(only) && others.length === 0 ? only : [value];
  }
  // A value in the form of its schema.
  if (isObject(value) && Object.keys(value).every((key) => SCHEMA_KEYS.has(key))) return value['value'];
  return Array.isArray(value) && value.length === 1 ? value[0] : undefined;
}

/** An object's fields under the schema's names. Models also write them with other separators. */
function namedFields(schema: Schema, value: Json): [string, unknown][] {
  const names = propertyNames(schema);
  const missing = names.filter((name) => !Object.hasOwn(value, name));
  return Object.entries(value).map(([name, entry]) => {
    const same = names.includes(name) ? [] : missing.filter((one) => plain(one) === plain(name));
    return [same.length === 1 ? (same[0] ?? name) : name, entry];
  });
}

function objectFor(schema: Schema, value: Json): Json {
  const required = new Set(requiredNames(schema));
  const entries = namedFields(schema, value).flatMap(([name, entry]): [string, unknown][] => {
    const isKnown = propertyNames(schema).includes(name);
    const field = propertyOf(schema, name);
    if (entry === null) {
      const isAllowed = isKnown ? accepts(field, null) : schema.fields['additionalProperties'] !== false;
      return isAllowed ? [[name, null]] : [];
    }
    const fitting = valueFor(field, entry);
    const isAbsent = isAbsentText(entry) && !required.has(name) && !accepts(field, fitting);
    return isAbsent ? [] : [[name, fitting]];
  });
  return Object.fromEntries(entries);
}

/** The value as the schema describes it, as far as the schema proves what is meant. */
function valueFor(schema: Schema | undefined, value: unknown): unknown {
  if (schema === undefined || accepts(schema, value)) return value;
  const choices = choicesOf(schema);
  for (const choice of choices) {
    const fitting = valueFor(choice, value);
    if (accepts(choice, fitting)) return fitting;
  }
  const own = partsOf(schema).reduce<unknown>((current, part) => valueFor(part, current), value);
  const types = typesOf(schema);
  if (isObject(own) && (types === undefined || types.includes('object'))) return objectFor(schema, own);
  if (Array.isArray(own) && (types === undefined || types.includes('array'))) {
    return own
      .map((entry, index) => (entry === null ? null : valueFor(entryOf(schema, index), entry)))
      .filter((entry, index) => entry !== null || accepts(entryOf(schema, index), null));
  }
  const other = converted(schema, own);
  if (other === undefined) return own;
  const fitting = Array.isArray(other) || isObject(other) ? valueFor(schema, other) : other;
  const nested = Array.isArray(own) || isObject(own) ? valueFor(schema, other) : fitting;
  return accepts(schema, nested) ? nested : own;
}

const WRAPPERS = [
  'arguments',
  'parameters',
  'input',
  'args',
  'kwargs',
  'params',
  'properties',
  'tool_input',
  'function',
];
/** A wrapper has these fields beside the arguments. */
const LABELS = new Set(['name', 'tool', 'tool_name', 'function_name', 'action', 'type', 'id', 'call_id']);

/** The arguments in a wrapper that cannot be the arguments themselves; undefined without one. */
function unwrapped(tool: Pick<FunctionTool, 'name'>, schema: Schema, value: Json): unknown {
  const names = new Set(propertyNames(schema));
  const all = Object.keys(value);
  if (all.some((key) => names.has(key))) return undefined;
  // An empty wrapper can stand beside the other one.
  const filled = all.filter((key) => typeof value[key] !== 'object' || Object.keys(value[key] ?? {}).length > 0);
  const keys = filled.length === 0 ? all : filled;
  const wrappers = keys.filter((key) => WRAPPERS.includes(key.toLowerCase()) || plain(key) === plain(tool.name));
  const [key = ''] = wrappers;
  if (wrappers.length !== 1 || keys.some((one) => one !== key && !LABELS.has(one.toLowerCase()))) return undefined;
  const held = value[key];
  const inner = typeof held === 'string' ? (isAbsentText(held) ? {} : bracketsIn(held)) : (held ?? {});
  if (!isObject(inner)) return undefined;
  const isNamed = keys.some((one) => typeof value[one] === 'string' && plain(value[one]) === plain(tool.name));
  const fits = Object.keys(inner).every((one) => names.has(one)) && (names.size > 0 || isNamed);
  const nested = unwrapped(tool, schema, inner);
  return fits || isNamed || nested !== undefined || plain(key) === plain(tool.name) ? inner : undefined;
}

/** Removes what cannot be stored. */
function storableValue(value: unknown): unknown {
  if (typeof value === 'string') return storable(value);
  if (Array.isArray(value)) return value.map(storableValue);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [storable(key), storableValue(entry)]));
}

/** Some servers send an empty object before the arguments. */
const PLACEHOLDER = /^\{\}(?=\s*\{)/;
/** Some servers leave fragments of a call's end marker. */
const REMAINDER = /^(?:\s|[}\])`;,.]|<[^{}]*>)*$/;

interface Parsed {
  value: unknown;
  isRepaired: boolean;
}

/** Models escape or double brackets and quotes, so that the text is not JSON. */
function* spellings(text: string): Generator<string> {
  yield text;
  yield text.replaceAll(/<\|"(?:\|?)>/g, '"');
  if (/^\{\s*\\"/.test(text)) yield text.replaceAll('\\"', '"');
  yield text.replaceAll(/\\[nt](?=\s*["'[\]{}\d,:]|\\[nt]|\s*$)/g, ' ');
  if (/^\{\s*\{[\s\S]*\}\s*\}$/.test(text)) yield* spellings(text.slice(1, -1).trim());
}

/** @returns undefined if the text is cut, or no JSON object */
function repairedText(text: string): Parsed | undefined {
  const start = text.search(/[[{]/);
  const found = start < 0 ? undefined : jsonAt(text, start);
  if (found === undefined) return undefined;
  const next = found.rest.search(/[[{]/);
  const other = next < 0 ? undefined : jsonAt(found.rest, next);
  // Two different objects: which one is meant is unknown.
  if (other !== undefined && JSON.stringify(other.value) !== JSON.stringify(found.value)) return undefined;
  const isPlain = start === 0 && (other !== undefined || REMAINDER.test(found.rest));
  return { value: found.value, isRepaired: found.isRepaired || !isPlain };
}

/** @returns undefined if the text is cut, or no JSON object */
function parsed(text: string): Parsed | undefined {
  const bare = withoutFence(text).replace(PLACEHOLDER, '').trim();
  const value = parseJson(bare);
  if (value !== undefined) return { value, isRepaired: false };
  if (isAbsentText(bare)) return { value: {}, isRepaired: false };
  for (const spelling of spellings(bare)) {
    const found = repairedText(spelling);
    if (found !== undefined) return spelling === bare ? found : { ...found, isRepaired: true };
  }
  return undefined;
}

/** @returns the object that a value encodes; undefined without one */
function objectOf(value: unknown, layers = 0): Json | undefined {
  if (isObject(value)) return value;
  if (value === null || (Array.isArray(value) && value.length === 0) || isAbsentText(value)) return {};
  if (Array.isArray(value) && value.length === 1) return objectOf(value[0], layers + 1);
  if (typeof value !== 'string' || layers >= MAX_LAYERS) return undefined;
  const inner = parseJson(value) ?? bracketsIn(value);
  return inner === undefined ? undefined : objectOf(inner, layers + 1);
}

const isExpected = (schema: Schema, value: Json): boolean => {
  const names = propertyNames(schema);
  return accepts(schema, value) && Object.keys(value).every((name) => names.includes(name));
};

/**
 * A call's arguments, repaired as far as the tool's schema proves what is meant; undefined unless they are a whole JSON
 * object.
 *
 * @param tool undefined if it is unknown
 */
export function argumentsFor(tool: FunctionTool | undefined, text: string): Json | undefined {
  const read = parsed(text);
  let value = read === undefined ? undefined : objectOf(read.value);
  if (read === undefined || value === undefined) return undefined;
  const schema = tool === undefined ? undefined : schemaOf(tool.inputSchema, tool.inputSchema as Json);
  if (tool === undefined || schema === undefined) {
    return read.isRepaired ? undefined : (storableValue(value) as Json);
  }
  const isProven = propertyNames(schema).length > 0 && requiredNames(schema).length > 0;
  for (let layers = 0; layers < MAX_LAYERS && !(isProven && accepts(schema, value)); layers += 1) {
    const inner: unknown = unwrapped(tool, schema, value);
    if (!isObject(inner)) break;
    value = inner;
  }
  const fitting = objectFor(schema, value);
  // Repaired text must match the schema, because the repair is a guess.
  return read.isRepaired && !isExpected(schema, fitting) ? undefined : (storableValue(fitting) as Json);
}

/** Returns true if the schema accepts the arguments and names all of them. */
export function fitsSchema(tool: FunctionTool, value: Json): boolean {
  const schema = schemaOf(tool.inputSchema, tool.inputSchema as Json);
  return schema !== undefined && isExpected(schema, value);
}
