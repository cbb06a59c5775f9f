import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

export interface McpAnswer {
  text: string;
  structured?: Record<string, unknown>;
  isError?: boolean;
}

export interface McpServerOptions {
  /** The name of its only tool, which has the argument `query`. */
  tool: string;
  /** The accepted bearer tokens at the time of the request. Others get 401. */
  token: string | ReadonlySet<string>;
  answer: (query: string) => Promise<McpAnswer> | McpAnswer;
  port?: number;
}

/** An MCP server of the official SDK on loopback. */
export async function startMcpServer({ tool, token, answer, port = 0 }: McpServerOptions) {
  let requests = 0;
  const shown: (string | undefined)[] = [];
  const accepts = (bearer: string): boolean => (typeof token === 'string' ? bearer === token : token.has(bearer));
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'test-tools', version: '1.0.0' });
    const config = { description: 'Ans\u200Bwers.', inputSchema: z.object({ query: z.string() }) };
    server.registerTool(tool, config, async ({ query }) => {
      const { text, structured, isError } = await answer(query);
      return {
        content: [{ type: 'text', text }],
        ...(structured === undefined ? {} : { structuredContent: structured }),
        ...(isError === undefined ? {} : { isError }),
      };
    });
    // MCP allows this name, but model providers do not.
    server.registerTool('dotted.name', { inputSchema: z.object({}) }, () => ({ content: [] }));
    return server;
  });
  const serve = toNodeHandler(handler);
  const server = createServer((request, response) => {
    requests += 1;
    const bearer = request.headers.authorization?.replace('Bearer ', '');
    shown.push(bearer);
    if (bearer === undefined || !accepts(bearer)) {
      response.writeHead(401).end();
      return;
    }
    const { method = 'GET', url = '/mcp' } = request;
    void serve(Object.assign(request, { method, url }), response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    endpoint: `http://127.0.0.1:${bound}/mcp`,
    /** The number of HTTP requests. */
    requests: () => requests,
    /** The bearer token of each request. */
    shown: (): readonly (string | undefined)[] => shown,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
