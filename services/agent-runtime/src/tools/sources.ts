import { create } from '@bufbuild/protobuf';
import type { ToolResult } from '@uswarm/mcp-client';
import { type CallRecord, CallRecordSchema, type Source, SourceSchema } from '@uswarm/runtime-proto';
import { visibleText } from '@uswarm/service-kit';

/** Bytes of a record as JSON, as in the protocol. */
const MAX_RECORD_BYTES = 4 * 1024;
const MAX_ARGUMENT_CHARACTERS = 500;
const MAX_SOURCES = 10;
const MAX_TITLE_CHARACTERS = 120;
/** Longer addresses are left out: a partial address is useless. */
const MAX_ADDRESS_CHARACTERS = 400;
/** Nested values that are searched for addresses. */
const MAX_DEPTH = 6;

const ADDRESS = /\bhttps?:\/\/[^\s<>"'\])}]+/g;
const TITLES = ['title', 'name', 'subject', 'summary'];
const ADDRESSES = ['url', 'uri', 'link', 'href', 'htmlLink'];

const shown = (text: string, length: number): string =>
  visibleText(text.replaceAll(/\s+/g, ' ')).trim().slice(0, length).toWellFormed();

function toSource(address: string, title: string): Source[] {
  const isKept = /^https?:\/\//.test(address) && address.length <= MAX_ADDRESS_CHARACTERS;
  return isKept
    ? [create(SourceSchema, { address: visibleText(address), title: shown(title, MAX_TITLE_CHARACTERS) })]
    : [];
}

function field(value: object, names: readonly string[]): string {
  for (const name of names) {
    const found: unknown = (value as Record<string, unknown>)[name];
    if (typeof found === 'string' && found !== '') return found;
  }
  return '';
}

/** The objects in a JSON value that have an address, in their order. */
function inJson(value: unknown, depth = 0): Source[] {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return [];
  if (Array.isArray(value)) return value.flatMap((item) => inJson(item, depth + 1));
  const own = toSource(field(value, ADDRESSES), field(value, TITLES));
  return [...own, ...Object.values(value).flatMap((item) => inJson(item, depth + 1))];
}

function inText(text: string): Source[] {
  try {
    return inJson(JSON.parse(text));
  } catch {
    return Array.from(text.matchAll(ADDRESS), ([address]) => address).flatMap((address) => toSource(address, ''));
  }
}

function sourcesOf({ text, parts }: Pick<ToolResult, 'text' | 'parts'>): Source[] {
  const found = (parts ?? [{ type: 'text', text }]).flatMap((part) => {
    if (part.type === 'link') return toSource(part.uri, part.name);
    return part.type === 'text' ? inText(part.text) : [];
  });
  const first = new Map<string, Source>();
  for (const source of found) if (!first.has(source.address)) first.set(source.address, source);
  return [...first.values()].slice(0, MAX_SOURCES);
}

/** A call's description for later turns in the conversation. Pure. */
export function callRecord(tool: string, input: Record<string, unknown>, result: ToolResult): CallRecord {
  const argumentsJson = JSON.stringify(input).slice(0, MAX_ARGUMENT_CHARACTERS).toWellFormed();
  const record = { tool, arguments: argumentsJson, failed: result.failed, sources: [] as Source[] };
  for (const source of result.failed ? [] : sourcesOf(result)) {
    const { title, address } = source;
    const sources = [...record.sources.map((one) => ({ title: one.title, address: one.address })), { title, address }];
    if (Buffer.byteLength(JSON.stringify({ ...record, sources })) > MAX_RECORD_BYTES) break;
    record.sources.push(source);
  }
  return create(CallRecordSchema, record);
}
