import { afterEach, describe, expect, it } from '@jest/globals';
import { READ_PAGE_TOOL, TOOL_SERVER_TOOLS } from '@uswarm/contract/agent-tools';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { listen, type McpGrant, parseSigningKey, signMcpToken, silentLogger } from '@uswarm/service-kit';
import { PageError } from '../pages/page-error.js';
import type { Page, PageReader } from '../pages/page-reader.js';
import { createWebSearch } from '../web-search.js';
import { createSearchServer, type SearchServerDeps } from './search-server.js';
import { toolShape } from '../../test/tool-shape.js';

const key = parseSigningKey(`k1:${'secret '.repeat(8)}`);
const URL_READ = 'https://example.org/tea';
const about = { title: 'Tea', author: '', site: '', published: '', language: 'en', part: 1, parts: 2, next: 2 };
const tea: Page = { status: 'ok', url: URL_READ, ...about, markdown: '# Tea\n\nGreen.', notes: [] };

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

async function start(readPage: PageReader['readPage'] | undefined, deps: Partial<SearchServerDeps> = {}) {
  const pages = readPage && { readPage };
  const search = createWebSearch({ endpoint: '' });
  const server = createSearchServer({ search, pages, keys: [key], logger: silentLogger, ...deps });
  const http = await listen(server.handler, { host: '127.0.0.1', port: 0 });
  cleanup.defer(() => http.close(0));
  cleanup.defer(server.close);
  return async (grant?: McpGrant) => {
    const token = await signMcpToken(key, { workspaceId: 'w1', agentId: 'a', turnId: 't' }, grant);
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(
      new StreamableHTTPClientTransport(new URL('/mcp', http.url), { authProvider: { token: async () => token } }),
    );
    cleanup.defer(() => client.close());
    return {
      tools: async () => (await client.listTools()).tools,
      read: (args: Record<string, unknown>) => client.callTool({ name: READ_PAGE_TOOL, arguments: args }),
    };
  };
}

describe('read_page_tool over MCP', () => {
  it('has the description that models get, and is absent if it is turned off', async () => {
    const { tools } = await (await start(() => Promise.resolve(tea)))();
    const tool = (await tools()).find(({ name }) => name === READ_PAGE_TOOL)!;
    const described = TOOL_SERVER_TOOLS[READ_PAGE_TOOL]!;
    expect(tool.description).toBe(described.description);
    expect(toolShape(tool.inputSchema as never)).toEqual(toolShape(described.inputSchema));
    expect(tool.annotations).toEqual({ readOnlyHint: true, openWorldHint: true });
    const off = await (await start(undefined))();
    expect((await off.tools()).map(({ name }) => name)).toEqual(['web_search_tool']);
  });

  it('returns the page as a source with its title, and as text between marks', async () => {
    const { read } = await (await start(() => Promise.resolve(tea)))({ page: URL_READ });
    const [link, text] = (await read({ url: URL_READ })).content as { type: string; text: string }[];
    expect(link).toEqual({ type: 'resource_link', uri: URL_READ, name: 'Tea' });
    expect(text?.text).toMatch(
      /<<<([0-9a-f]{16})\nTitle: Tea\nAddress: https:\/\/example\.org\/tea\nLanguage: en\nPart 1 of 2; the next is part 2\n\n# Tea\n\nGreen\.\n\1>>>$/,
    );
  });

  it('reads nothing with a token for the list, for another address, or for a search for the address', async () => {
    const asked: unknown[] = [];
    const connect = await start((args) => {
      asked.push(args.url);
      return Promise.resolve(tea);
    });
    for (const grant of [undefined, { page: `${URL_READ}?k=1` }, { query: URL_READ }]) {
      const { read } = await connect(grant);
      const result = await read({ url: URL_READ });
      expect(result).toMatchObject({
        isError: true,
        content: [{ text: 'read_page_tool: the token is not valid for this address' }],
      });
    }
    expect(asked).toEqual([]);
  });

  it('returns errors as results, and shares the limits of a workspace with searches', async () => {
    let limited = 0;
    const fail = () => Promise.reject(new PageError('blocked_by_robots', 'example.org does not allow it'));
    const limits = { limits: { perMinute: 1, concurrent: 1 }, onPageLimited: () => void (limited += 1) };
    const { read } = await (await start(fail, limits))({ page: URL_READ });
    const results = [await read({ url: URL_READ }), await read({ url: URL_READ })];
    expect(results.map(({ isError, content }) => ({ isError, content }))).toEqual([
      { isError: true, content: [{ type: 'text', text: 'read_page_tool: example.org does not allow it' }] },
      { isError: true, content: [{ type: 'text', text: expect.stringMatching(/^read_page_tool: too many searches/) }] },
    ]);
    expect(limited).toBe(1);
  });
});
