import { z } from 'zod';
import type { FunctionTool, PromptMessage } from '../models/port.js';
import { toolCallsOf } from '../tool-calls-of.js';
import { type BuiltInTool, defineTool, type ListedTool } from './define-tool.js';
import { FIND_TOOLS, type FindTools } from './find-tools.js';

export const MORE_TOOLS = 'more_tools';

const LINE = /^- ([^:]+): /gm;

/** The names that a description of `more_tools` lists. */
export const listedNames = (description: string): string[] =>
  [...description.matchAll(LINE)].flatMap(([, name]) => name ?? []);

/** The tool that loads listed tools. */
export function createMoreTools(listed: readonly ListedTool[]): BuiltInTool {
  const hints = new Map(listed.map(({ definition: { name }, hint }) => [name, hint]));
  const list = [...hints].map(([name, hint]) => `- ${name}: ${hint}`).join('\n');
  return defineTool({
    name: MORE_TOOLS,
    description: `Loads further tools for your next step:\n${list}`,
    input: z.object({ names: z.array(z.string()).min(1) }),
    run({ names }) {
      const unknown = names.filter((name) => !hints.has(name.trim()));
      if (unknown.length > 0)
        return { text: `${MORE_TOOLS}: unknown: ${unknown.join(', ')}. There are:\n${list}`, failed: true };
      return { text: `Loaded: ${names.join(', ')}.`, failed: false };
    },
  });
}

/** Tool names. */
export const calledIn = (turn: readonly PromptMessage[]): Set<string> =>
  new Set(turn.flatMap(toolCallsOf).map(({ toolName }) => toolName));

function namesIn(input: unknown): string[] {
  const { names } = (typeof input === 'object' && input !== null ? input : {}) as { names?: unknown };
  return Array.isArray(names) ? names.map((name) => String(name).trim()) : [];
}

function queryIn(input: unknown): string {
  const { query } = (typeof input === 'object' && input !== null ? input : {}) as { query?: unknown };
  return typeof query === 'string' ? query : '';
}

/** The listed tools that a turn has loaded, or has called without loading them: providers want definitions for all calls. */
export function loadedIn(
  turn: readonly PromptMessage[],
  listed: readonly ListedTool[],
  find?: Pick<FindTools, 'found'>,
): FunctionTool[] {
  if (listed.length === 0) return [];
  const loaded = new Set(
    turn.flatMap(toolCallsOf).flatMap(({ toolName, input }) => {
      if (toolName === MORE_TOOLS) return namesIn(input);
      return toolName === FIND_TOOLS && find !== undefined ? find.found(queryIn(input)) : [toolName];
    }),
  );
  return listed.map(({ definition }) => definition).filter(({ name }) => loaded.has(name));
}
