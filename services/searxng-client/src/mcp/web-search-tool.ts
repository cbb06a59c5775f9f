import { randomBytes } from 'node:crypto';
import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { TOOL_SERVER_TOOLS, WEB_SEARCH_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { MAX_QUERY_LENGTH, MAX_RESULTS_CEILING, MAX_RESULTS_DEFAULT, type SearchArguments } from '../arguments.js';
import { WebSearchError } from '../errors.js';
import { searchOutcomeSchema } from '../outcome.js';
import { renderForModel } from '../render.js';
import type { WebSearch } from '../web-search.js';
import { convertOnce, failure } from './tool-schemas.js';

/**
 * Describes the arguments without checking them: the search checks them itself, so that library, CLI and this tool
 * share the rules and the error texts.
 */
const inputSchema = convertOnce(
  z.object({
    query: z.unknown().meta({
      type: 'string',
      minLength: 1,
      maxLength: MAX_QUERY_LENGTH,
      description: 'The query, in plain words.',
    }),
    max_results: z
      .unknown()
      .optional()
      .meta({
        type: 'integer',
        minimum: 1,
        default: MAX_RESULTS_DEFAULT,
        description: `How many results to return; more than ${MAX_RESULTS_CEILING} counts as ${MAX_RESULTS_CEILING}.`,
      }),
  }),
);

const outputSchema = convertOnce(searchOutcomeSchema);

/** Reports progress to a client that asked for it: clients end calls without progress, the runtime after 30 s. */
function progressOf({ _meta, notify }: ServerContext['mcpReq']): (() => void) | undefined {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return undefined;
  let progress = 0;
  return () => {
    progress += 1;
    // A client that has left gets no result either.
    notify({ method: 'notifications/progress', params: { progressToken, progress } }).catch(() => undefined);
  };
}

/** Adds `web_search_tool` to a server. Errors become tool results with `isError`, as models expect. */
export function registerWebSearchTool(
  server: McpServer,
  search: WebSearch['search'],
  reportBug: (error: unknown) => void,
): void {
  const config = {
    title: 'Web search',
    description: TOOL_SERVER_TOOLS[WEB_SEARCH_TOOL]?.description ?? '',
    inputSchema,
    outputSchema,
    annotations: { readOnlyHint: true, openWorldHint: true },
  };
  server.registerTool(WEB_SEARCH_TOOL, config, async (args: SearchArguments, context): Promise<CallToolResult> => {
    try {
      const { mcpReq } = context;
      const outcome = await search(args, { signal: mcpReq.signal, onWait: progressOf(mcpReq) });
      const text = renderForModel(outcome, randomBytes(8).toString('hex'));
      return { content: [{ type: 'text', text }], structuredContent: outcome };
    } catch (error) {
      if (error instanceof WebSearchError) return failure(error.message);
      reportBug(error);
      return failure(`${WEB_SEARCH_TOOL}: internal error`);
    }
  });
}
