import { randomBytes } from 'node:crypto';
import type { CallToolResult, McpServer } from '@modelcontextprotocol/server';
import { READ_PAGE_TOOL, TOOL_SERVER_TOOLS } from '@uswarm/contract/agent-tools';
import { MAX_PAGE_ADDRESS } from '@uswarm/service-kit';
import { z } from 'zod';
import { PageError } from '../pages/page-error.js';
import type { PageArguments, PageReader } from '../pages/page-reader.js';
import { renderPageForModel } from '../pages/render-page.js';
import { convertOnce, failure } from './tool-schemas.js';

/** Describes the arguments without checking them: the reader checks them itself. */
const inputSchema = convertOnce(
  z.object({
    url: z.unknown().meta({
      type: 'string',
      minLength: 1,
      maxLength: MAX_PAGE_ADDRESS,
      description: 'The exact address, for example from a search.',
    }),
    part: z
      .unknown()
      .optional()
      .meta({ type: 'integer', minimum: 1, default: 1, description: 'Which part of a long page.' }),
  }),
);

/**
 * Adds `read_page_tool` to a server. The result is a link to the page, which names it as a source, and its text. It is not
 * structured content, because Markdown in JSON costs a model more tokens.
 */
export function registerReadPageTool(
  server: McpServer,
  readPage: PageReader['readPage'],
  reportBug: (error: unknown) => void,
): void {
  const config = {
    title: 'Read a web page',
    description: TOOL_SERVER_TOOLS[READ_PAGE_TOOL]?.description ?? '',
    inputSchema,
    annotations: { readOnlyHint: true, openWorldHint: true },
  };
  server.registerTool(READ_PAGE_TOOL, config, async (args: PageArguments, context): Promise<CallToolResult> => {
    try {
      const page = await readPage(args, { signal: context.mcpReq.signal });
      const text = renderPageForModel(page, randomBytes(8).toString('hex'));
      const name = page.title || page.url;
      return {
        content: [
          { type: 'resource_link', uri: page.url, name },
          { type: 'text', text },
        ],
      };
    } catch (error) {
      if (error instanceof PageError) return failure(error.message);
      reportBug(error);
      return failure(`${READ_PAGE_TOOL}: internal error`);
    }
  });
}
