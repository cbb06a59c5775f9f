import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';

/** Results by method. A function gets the request's parameters. */
export type RawResults = Record<string, unknown>;

export interface RawMcpServer {
  endpoint: string;
  /** May be changed at any time. */
  results: RawResults;
  /** Requested methods, in order. */
  methods: string[];
  close(): Promise<void>;
}

interface RawRequest {
  id?: number;
  method: string;
  params?: Record<string, unknown>;
}

const VERSION = '2026-07-28';
const INITIALIZED = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'raw', version: '1' },
};
const DISCOVERED = { supportedVersions: [VERSION], capabilities: { tools: {} } };

export interface RawMcpServerOptions {
  /** Protocol version 2026-07-28, instead of 2025-06-18. */
  isModern?: boolean;
  /** Answers with an event stream instead of a document. */
  streams?: boolean;
  results?: RawResults;
  /** Changes each response. */
  response?: (response: Record<string, unknown>) => unknown;
}

/**
 * An MCP server on loopback with raw results, which the SDK's server would not send. Methods without a result are
 * unknown.
 */
export async function startRawMcpServer(options: RawMcpServerOptions = {}): Promise<RawMcpServer> {
  const { isModern = false, streams = false, response: change = (response) => response } = options;
  const methods: string[] = [];
  const defaults: RawResults = isModern ? { 'server/discover': DISCOVERED } : { initialize: INITIALIZED };
  const results: RawResults = { ...defaults, ...options.results };

  function answer({ method, params = {} }: RawRequest): Record<string, unknown> {
    if (!(method in results)) return { error: { code: -32_601, message: 'unknown method' } };
    const entry = results[method];
    const result: unknown = typeof entry === 'function' ? (entry as (given: object) => unknown)(params) : entry;
    const isObject = typeof result === 'object' && result !== null;
    return { result: isModern && isObject ? { resultType: 'complete', ...result } : result };
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    const message = (await json(request)) as RawRequest;
    methods.push(message.method);
    if (message.id === undefined) return void response.writeHead(202).end();
    const text = JSON.stringify(change({ jsonrpc: '2.0', id: message.id, ...answer(message) }));
    response.writeHead(200, { 'content-type': streams ? 'text/event-stream' : 'application/json' });
    response.end(streams ? `event: message\ndata: ${text}\n\n` : text);
  }

  const server = createServer((request, response) => {
    handle(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    results,
    methods,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
