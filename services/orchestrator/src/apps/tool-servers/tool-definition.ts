import { createHash } from 'node:crypto';
import { SERVER_SEPARATOR } from '@uswarm/contract/agent-tools';
import type { Tool, UnusableTool } from '@uswarm/mcp-client';
import { canonicalJson } from '@uswarm/service-kit';
import { visibleText } from '../../records/visible-text.js';

/** A tool as the model and the user see it. */
export interface ToolDefinition {
  /** As its server names it. */
  name: string;
  description: string;
  inputSchema: Record<string, unknown>;
  /** The server's hint that the tool changes nothing. */
  readOnly: boolean;
}

/** The definition, or why agents cannot have the tool. */
export type ReadTool = ToolDefinition | { name: string; problem: string };

/** Limit of model providers for function names. */
const MAX_NAME = 64;
const MAX_DESCRIPTION = 2_000;
const MAX_SCHEMA_BYTES = 16 * 1024;
const MAX_DEPTH = 24;
const NAME = /^[A-Za-z0-9_.\-/]+$/;

/** Unique among all tools of a workspace, and a function name that model providers accept. */
export const offeredName = (server: string, tool: string): string =>
  `${server}${SERVER_SEPARATOR}${tool.replaceAll(/[^A-Za-z0-9_-]/g, '_')}`;

/** Equal for names that look alike, such as `create_issue` and `create_lssue`. */
export const looks = (name: string): string =>
  name
    .replaceAll(/[-./_]/g, '_')
    .toLowerCase()
    .replaceAll(/[1l]/g, 'i')
    .replaceAll('0', 'o')
    .replaceAll('rn', 'm')
    .replaceAll('vv', 'w');

/** @throws RangeError for a value that is nested too deeply */
function visible(value: unknown, depth = 0): unknown {
  if (depth > MAX_DEPTH) throw new RangeError('is nested too deeply');
  if (typeof value === 'string') return visibleText(value);
  if (Array.isArray(value)) return value.map((item) => visible(item, depth + 1));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => {
    if (visibleText(key) !== key) throw new RangeError('has a name with invisible characters');
    return [key, visible(item, depth + 1)];
  });
  return Object.fromEntries(entries) as unknown;
}

function schemaOf({ inputSchema }: Tool): Record<string, unknown> | string {
  const { $schema: _, ...schema } = inputSchema;
  try {
    const shown = visible(schema) as Record<string, unknown>;
    if (Buffer.byteLength(JSON.stringify(shown)) > MAX_SCHEMA_BYTES)
      return `its schema has more than ${MAX_SCHEMA_BYTES} bytes`;
    return shown;
  } catch (error) {
    if (error instanceof RangeError) return `its schema ${error.message}`;
    throw error;
  }
}

function readTool(server: string, tool: Tool): ReadTool {
  const { name } = tool;
  if (!NAME.test(name)) return { name: visibleText(name), problem: 'its name has characters that are not allowed' };
  if (offeredName(server, name).length > MAX_NAME) return { name, problem: 'its name is too long' };
  const inputSchema = schemaOf(tool);
  if (typeof inputSchema === 'string') return { name, problem: inputSchema };
  const description = visibleText(tool.description ?? tool.title ?? '').trim();
  return {
    name,
    description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
    inputSchema,
    readOnly: tool.annotations?.readOnlyHint === true,
  };
}

/** Checks the tools that a server lists. Tools whose names look alike are all refused, because one imitates the other. Pure. */
export function readTools(server: string, tools: readonly Tool[], unusable: readonly UnusableTool[] = []): ReadTool[] {
  const read = tools.map((tool) => readTool(server, tool));
  const names = new Map<string, number>();
  for (const { name } of read) names.set(looks(name), (names.get(looks(name)) ?? 0) + 1);
  const checked = read.map((tool) =>
    'problem' in tool || names.get(looks(tool.name)) === 1
      ? tool
      : { name: tool.name, problem: 'another tool has a name that looks the same' },
  );
  return [...checked, ...unusable.map(({ name, problem }) => ({ name: visibleText(name), problem }))];
}

/** SHA-256. Equal for definitions that mean the same. */
export const definitionHash = (definition: ToolDefinition): Buffer =>
  createHash('sha256').update(canonicalJson(definition)).digest();
