import { serverOfTool } from '@uswarm/contract/agent-tools';
import MiniSearch from 'minisearch';
import { z } from 'zod';
import { type BuiltInTool, defineTool, type ListedTool } from './define-tool.js';

export const FIND_TOOLS = 'find_tools';

const MOST = 8;
const MAX_QUERY = 200;

/** `createIssue` and `create_issue` are two words. */
const words = (text: string): string[] =>
  text
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '');

export type FindTools = BuiltInTool & {
  /** Tool names that a query finds, best first. */
  found(query: string): string[];
};

function counted(tools: readonly ListedTool[]): string {
  const counts = new Map<string, number>();
  for (const { definition } of tools) {
    const server = serverOfTool(definition.name) ?? 'others';
    counts.set(server, (counts.get(server) ?? 0) + 1);
  }
  return [...counts].map(([server, count]) => `${server} (${count})`).join(', ');
}

/** The tool that searches more tools than a prompt has room for, and loads what it finds. */
export function createFindTools(tools: readonly ListedTool[]): FindTools {
  const index = new MiniSearch({
    fields: ['name', 'description'],
    tokenize: words,
    searchOptions: { boost: { name: 3 }, prefix: true, fuzzy: 0.2 },
  });
  index.addAll(tools.map(({ definition: { name, description = '' } }) => ({ id: name, name, description })));
  const hints = new Map(tools.map(({ definition: { name }, hint }) => [name, hint]));
  const found = (query: string): string[] =>
    index
      .search(query.slice(0, MAX_QUERY))
      .slice(0, MOST)
      .map(({ id }) => String(id));
  const groups = counted(tools);
  const tool = defineTool({
    name: FIND_TOOLS,
    description: `Finds tools of connected servers, and loads the best ${MOST} for your next step. There are: ${groups}.`,
    input: z.object({ query: z.string().min(1).describe('What the tool should do, in a few words.') }),
    run({ query }) {
      const names = found(query);
      if (names.length === 0) return { text: `No tool matches. There are: ${groups}.`, failed: true };
      return { text: `Loaded:\n${names.map((name) => `- ${name}: ${hints.get(name)}`).join('\n')}`, failed: false };
    },
  });
  return { ...tool, found };
}
