import { fieldsOfType, isObject, type Json } from './json.js';

/** A listed entry that cannot be used as a tool. */
export interface UnusableTool {
  name: string;
  problem: string;
}

/** State that a list's pages share. */
export interface Listing {
  /** Requested cursors, the newest last. */
  cursors: string[];
  unusable: UnusableTool[];
}

const HINTS = ['readOnlyHint', 'destructiveHint', 'idempotentHint', 'openWorldHint'];
/** Limits the log. */
const MAX_UNUSABLE = 20;
const MAX_NAME = 100;

/** A property whose schema cannot be read accepts anything: its tool may still be useful. */
const repairProperties = (properties: Json): Json =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      isObject(schema) || typeof schema === 'boolean' ? schema : {},
    ]),
  );

function repairSchema(schema: Json): Json | undefined {
  const { type, properties, required, $schema, ...others } = schema;
  const isForObjects = type === undefined || type === null || [type].flat().includes('object');
  if (!isForObjects) return undefined;
  return {
    ...(typeof $schema === 'string' ? { $schema } : {}),
    ...others,
    type: 'object',
    ...(isObject(properties) ? { properties: repairProperties(properties) } : {}),
    ...(Array.isArray(required) ? { required: required.filter((name) => typeof name === 'string') } : {}),
  };
}

/**
 * Keeps the fields that this package reads. Output schemas are left out: the SDK would run regular expressions that the
 * server chose, and would report a call that was executed as rejected because it has no structured content.
 */
function repairTool(tool: unknown): Json | UnusableTool {
  if (!isObject(tool)) return { name: '', problem: 'it is not an object' };
  const { name, inputSchema, annotations } = tool;
  if (typeof name !== 'string' || name === '') return { name: '', problem: 'it has no name' };
  const schema = isObject(inputSchema) ? repairSchema(inputSchema) : undefined;
  if (schema === undefined) return { name: name.slice(0, MAX_NAME), problem: 'it has no schema for its arguments' };
  return {
    name,
    ...fieldsOfType(tool, 'string', ['title', 'description']),
    inputSchema: schema,
    ...(isObject(annotations)
      ? {
          annotations: {
            ...fieldsOfType(annotations, 'string', ['title']),
            ...fieldsOfType(annotations, 'boolean', HINTS),
          },
        }
      : {}),
  };
}

/** @returns undefined at the end of the list, also if the server sends an earlier cursor again */
function nextCursor(cursor: unknown, { cursors }: Listing): string | undefined {
  const next = typeof cursor === 'number' ? String(cursor) : cursor;
  if (typeof next !== 'string' || next === '') return undefined;
  // The SDK compares the two pages.
  if (next === cursors.at(-1)) return next;
  if (cursors.includes(next)) return undefined;
  cursors.push(next);
  return next;
}

/** Repairs a page of tools, entry by entry. No tools is an empty list. */
export function repairToolList(result: Json, listing: Listing): Json {
  const { tools = [], nextCursor: cursor, ttlMs, cacheScope, ...others } = result;
  // The SDK rejects it, and the tools that were listed before stay.
  if (!Array.isArray(tools)) return result;
  const kept: Json[] = [];
  for (const tool of tools) {
    const repaired = repairTool(tool);
    if (!('problem' in repaired)) kept.push(repaired);
    else if (listing.unusable.length < MAX_UNUSABLE) listing.unusable.push(repaired as UnusableTool);
  }
  const next = nextCursor(cursor, listing);
  const isTime = typeof ttlMs === 'number' && Number.isInteger(ttlMs) && ttlMs >= 0;
  return {
    ...others,
    tools: kept,
    ...(next === undefined ? {} : { nextCursor: next }),
    // Required by version 2026-07-28; earlier versions do not have them.
    ...(isTime ? { ttlMs } : 'resultType' in result ? { ttlMs: 0 } : {}),
    cacheScope: cacheScope === 'public' ? 'public' : 'private',
  };
}
