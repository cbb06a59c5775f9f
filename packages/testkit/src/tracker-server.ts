import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type CallToolResult,
  createMcpHandler,
  McpServer,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';

export interface TrackerTool {
  name: string;
  title?: string;
  description?: string;
  inputSchema: {
    type: 'object';
    properties?: Record<string, Record<string, string | string[]>>;
    required?: string[];
  };
  outputSchema?: { type: 'object'; description?: string };
  annotations?: { readOnlyHint?: boolean; title?: string };
}

const TITLE = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'] } as const;

export const CREATE_ISSUE: TrackerTool = {
  name: 'create_issue',
  description: 'Creates an issue.',
  inputSchema: { ...TITLE, required: [...TITLE.required] },
};
export const LIST_ISSUES: TrackerTool = {
  name: 'list_issues',
  description: 'Lists the issues.',
  inputSchema: { type: 'object', properties: {} },
  annotations: { readOnlyHint: true },
};

interface Arrived {
  tool: string;
  arguments: Record<string, unknown>;
  meta: Record<string, unknown>;
}

/** An issue tracker as an MCP server, without an account. */
export interface TrackerServer {
  url: string;
  /** Listed tools; tests change them. */
  tools: TrackerTool[];
  /** The accepted token; undefined if it needs none. */
  token: string | undefined;
  /** Issue titles. */
  issues: string[];
  /** Calls that arrived, in order. */
  calls: Arrived[];
  /** Replaces a call's result; errors are answered as errors of the protocol. */
  results: (CallToolResult | ProtocolError)[];
  /** Status with which the next requests are refused. */
  refusals: number[];
  /** Until it is released, created issues have no answer. @returns releases them */
  holdAnswers(): () => void;
  /** Resolves when that many calls have arrived. */
  arrived(count: number): Promise<void>;
  /** Reports to those who listen that the list of tools has changed. */
  reportChange(): void;
  /** Serves the same issues elsewhere. */
  create(): McpServer;
  close(): Promise<void>;
}

/** The answer to a call that the server does not execute. */
export const refusedCall = (message: string): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

const text = (words: string): CallToolResult => ({ content: [{ type: 'text', text: words }] });

export async function startTrackerServer(): Promise<TrackerServer> {
  let held: Promise<void> | undefined;
  const waiting = new Set<() => void>();

  async function call({ tool, arguments: args }: Arrived): Promise<CallToolResult> {
    const result = tracker.results.shift();
    if (result instanceof ProtocolError) throw result;
    if (result !== undefined) return result;
    if (tool === LIST_ISSUES.name) return text(tracker.issues.join('\n') || 'There are no issues.');
    tracker.issues.push(String(args['title']));
    const answer = text(`Created the issue ${tracker.issues.length}.`);
    await held;
    return answer;
  }

  function newServer(): McpServer {
    const server = new McpServer(
      { name: 'tracker', version: '1.0.0' },
      { capabilities: { tools: { listChanged: true } } },
    );
    server.server.setRequestHandler('tools/list', () => ({ tools: tracker.tools }));
    server.server.setRequestHandler('tools/call', ({ params }) => {
      const { name: tool, arguments: args = {}, _meta: meta = {} } = params;
      const arrived = { tool, arguments: args, meta };
      tracker.calls.push(arrived);
      for (const check of waiting) check();
      return call(arrived);
    });
    return server;
  }

  const handler = createMcpHandler(newServer);
  const serve = toNodeHandler(handler);
  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = request.method === 'POST' ? await json(request) : undefined;
    const refusal = tracker.refusals.shift();
    if (refusal !== undefined) return void response.writeHead(refusal).end();
    if (tracker.token !== undefined && request.headers.authorization !== `Bearer ${tracker.token}`)
      return void response.writeHead(401).end();
    const { method = 'GET', url = '/mcp' } = request;
    await serve(Object.assign(request, { method, url }), response, body);
  }

  const http = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const tracker: TrackerServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    tools: [CREATE_ISSUE, LIST_ISSUES],
    token: undefined,
    issues: [],
    calls: [],
    results: [],
    refusals: [],
    reportChange: () => handler.notify.toolsChanged(),
    create: newServer,
    holdAnswers() {
      const { promise, resolve } = Promise.withResolvers<void>();
      held = promise;
      return () => {
        held = undefined;
        resolve();
      };
    },
    arrived: (count) =>
      new Promise((resolve) => {
        const check = (): void => {
          if (tracker.calls.length < count) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return tracker;
}
