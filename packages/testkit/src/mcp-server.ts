import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import {
  type CallToolResult,
  createMcpHandler,
  inputRequired,
  type ListToolsResult,
  McpServer,
} from '@modelcontextprotocol/server';
import { z } from 'zod';

export interface McpAnswer {
  text: string;
  /** Further result blocks. */
  blocks?: CallToolResult['content'];
  structured?: Record<string, unknown>;
  isError?: boolean;
}

/** Sends a progress notification for the running call. */
export type Progress = () => Promise<void>;

/** Reports on the running call's stream that the list of tools has changed. */
export type ReportChange = () => Promise<void>;

export interface McpServerOptions {
  /** The name of its tool, which has the argument `query`. */
  tool: string;
  /** The accepted bearer tokens; a set may change. Others get 401. */
  token: string | ReadonlySet<string>;
  answer: (query: string, progress: Progress, reportChange: ReportChange) => Promise<McpAnswer> | McpAnswer;
  /** Handles a call's HTTP request instead of the tool; returns false for the others. */
  fault?: (query: string, response: ServerResponse) => boolean;
  /** Answers the HTTP request for the tool list; returns false to leave it to the server. */
  listFault?: (response: ServerResponse) => boolean;
  /** Replaces the listed tools, page by page. */
  listPage?: (cursor: string | undefined) => Pick<ListToolsResult, 'tools' | 'nextCursor'>;
  /** True if the tool declares that it changes nothing. */
  readOnly?: boolean;
  /** Milliseconds for which clients may cache the list of tools; default: an hour. */
  listTtlMs?: number;
  /** Speaks the protocol of 2025, with sessions that end with the server. */
  sessions?: boolean;
  port?: number;
}

function createTools({ tool, answer, listPage, readOnly = false, listTtlMs = 3_600_000 }: McpServerOptions): McpServer {
  const cacheHints = { 'tools/list': { ttlMs: listTtlMs } };
  const server = new McpServer({ name: 'test-tools', version: '1.0.0' }, { cacheHints });
  const annotations = { readOnlyHint: readOnly };
  const config = { description: 'Ans\u200Bwers.', inputSchema: z.object({ query: z.string() }), annotations };
  server.registerTool(tool, config, async ({ query }, { mcpReq }) => {
    let progress = 0;
    const {
      text,
      blocks = [],
      structured,
      isError,
    } = await answer(
      query,
      async () => {
        const { _meta: meta } = mcpReq;
        const progressToken = meta?.progressToken;
        if (progressToken === undefined) return;
        progress += 1;
        await mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress } });
      },
      () => mcpReq.notify({ method: 'notifications/tools/list_changed' }),
    );
    return {
      content: [{ type: 'text', text }, ...blocks],
      ...(structured === undefined ? {} : { structuredContent: structured }),
      ...(isError === undefined ? {} : { isError }),
    };
  });
  // MCP allows this name, but model providers do not.
  server.registerTool('dotted.name', { inputSchema: z.object({}) }, () => ({ content: [] }));
  server.registerTool('asking_tool', { inputSchema: z.object({}) }, () => inputRequired({ requestState: 'waiting' }));
  if (listPage !== undefined) server.server.setRequestHandler('tools/list', ({ params }) => listPage(params?.cursor));
  return server;
}

interface Served {
  serve: (request: IncomingMessage, response: ServerResponse, body: unknown) => Promise<void>;
  reportChange: () => void;
}

function withoutSessions(create: () => McpServer): Served {
  const handler = createMcpHandler(create);
  const serve = toNodeHandler(handler);
  return {
    serve(request, response, body) {
      const { method = 'GET', url = '/mcp' } = request;
      return serve(Object.assign(request, { method, url }), response, body);
    },
    reportChange: () => handler.notify.toolsChanged(),
  };
}

function withSessions(create: () => McpServer): Served {
  const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
  const servers = new Set<McpServer>();
  async function serve(request: IncomingMessage, response: ServerResponse, body: unknown): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? sessions.get(id) : undefined;
    if (known !== undefined) return known.handleRequest(request, response, body);
    if (id !== undefined) return void response.writeHead(404).end();
    const transport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (session) => void sessions.set(session, transport),
    });
    const server = create();
    servers.add(server);
    await server.connect(transport);
    return transport.handleRequest(request, response, body);
  }
  return {
    serve,
    reportChange() {
      for (const server of servers) server.sendToolListChanged();
    },
  };
}

/** @param sessions speaks the protocol of 2025, with sessions that end with the server */
export const serveMcp = (create: () => McpServer, sessions: boolean): Served =>
  sessions ? withSessions(create) : withoutSessions(create);

const List = z.object({ method: z.literal('tools/list') });

const Call = z.object({
  method: z.literal('tools/call'),
  params: z.object({ arguments: z.object({ query: z.string() }) }),
});

/** An MCP server from the official SDK, on loopback. */
export async function startMcpServer(options: McpServerOptions) {
  const { token, fault, listFault, sessions = false, port = 0 } = options;
  let requests = 0;
  const shown: (string | undefined)[] = [];
  const accepts = (bearer: string): boolean => (typeof token === 'string' ? bearer === token : token.has(bearer));
  const { serve, reportChange } = serveMcp(() => createTools(options), sessions);
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = request.method === 'POST' ? await json(request) : undefined;
    const call = Call.safeParse(body);
    if (call.success && fault?.(call.data.params.arguments.query, response) === true) return;
    if (List.safeParse(body).success && listFault?.(response) === true) return;
    await serve(request, response, body);
  }
  const server = createServer((request, response) => {
    requests += 1;
    const bearer = request.headers.authorization?.replace('Bearer ', '');
    shown.push(bearer);
    if (bearer === undefined || !accepts(bearer)) {
      response.writeHead(401).end();
      return;
    }
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const bound = (server.address() as AddressInfo).port;
  return {
    port: bound,
    endpoint: `http://127.0.0.1:${bound}/mcp`,
    /** The number of HTTP requests. */
    requests: () => requests,
    /** Reports on open streams that the list of tools has changed. */
    reportChange,
    /** The bearer token of each request. */
    shown: (): readonly (string | undefined)[] => shown,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
