import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { allowsQuery, type Logger, type McpCaller, type SigningKey } from '@uswarm/service-kit';
import { WebSearchError } from '../errors.js';
import type { WebSearch } from '../web-search.js';
import { authenticate } from './bearer.js';
import { registerWebSearchTool } from './web-search-tool.js';
import { createWorkspaceLimiter, type WorkspaceLimits } from './workspace-limiter.js';

/** Request bytes; a query is at most 400 characters. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** Milliseconds for which clients may cache the list of tools, which changes with the version only. */
const LIST_TTL_MS = 10 * 60_000;
const NOT_ALLOWED = 'the token is not valid for this query';
const DEFAULT_LIMITS: WorkspaceLimits = { perMinute: 60, concurrent: 4 };

export interface SearchServerDeps {
  search: WebSearch;
  /** Keys that sign tool tokens: the current one and, during a rotation, the previous one. */
  keys: readonly SigningKey[];
  /** Also accept tokens without an expiry; see `McpTokenRules`. */
  acceptUnlimitedTokens?: boolean;
  logger: Pick<Logger, 'error' | 'warn'>;
  limits?: WorkspaceLimits;
  /** Called for each search above its workspace's limits. */
  onLimited?: () => void;
  /** Accepted `Host` names; default: any. Loopback servers set theirs. */
  allowedHosts?: readonly string[];
}

export interface SearchServer {
  handler: RequestListener;
  /** Aborts running searches. */
  close(): Promise<void>;
}

/**
 * `web_search_tool` as an MCP server: stateless streamable HTTP at `/mcp`, with a bearer token per turn. Without a
 * configured endpoint it serves, too, and the tool returns the error.
 */
export function createSearchServer(deps: SearchServerDeps): SearchServer {
  const limiter = createWorkspaceLimiter(deps.limits ?? DEFAULT_LIMITS);
  const search = async (workspaceId: string, ...asked: Parameters<WebSearch['search']>) => {
    try {
      return await limiter.run(workspaceId, () => deps.search.search(...asked), asked[1]?.signal);
    } catch (error) {
      if (error instanceof WebSearchError && error.code === 'rate_limited') deps.onLimited?.();
      throw error;
    }
  };
  const mcp = createMcpHandler(
    ({ authInfo }) => {
      const server = new McpServer(
        { name: 'uswarm-web-search', version: '0.1.0' },
        { cacheHints: { 'tools/list': { ttlMs: LIST_TTL_MS, cacheScope: 'public' } } },
      );
      const workspaceId = authInfo?.clientId ?? '';
      registerWebSearchTool(
        server,
        async (args, options) => {
          const query = typeof args.query === 'string' ? args.query : '';
          const caller = authInfo?.extra?.['caller'] as McpCaller | undefined;
          if (caller === undefined || !allowsQuery(caller, query)) throw new WebSearchError('not_allowed', NOT_ALLOWED);
          return search(workspaceId, args, options);
        },
        (error) => deps.logger.error({ err: error, workspace_id: workspaceId }, 'search failed'),
      );
      return server;
    },
    {
      maxRequestBodySize: MAX_REQUEST_BYTES,
      onerror: (error) => deps.logger.warn({ err: error }, 'MCP request rejected'),
    },
  );
  const serveMcp = toNodeHandler(mcp, { maxRequestBodySize: MAX_REQUEST_BYTES });
  const guards = [
    // Browsers have no access: requests with an `Origin` are rejected.
    originValidation([]),
    ...(deps.allowedHosts === undefined ? [] : [hostHeaderValidation([...deps.allowedHosts])]),
  ];

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.split('?')[0] !== '/mcp') {
      response.writeHead(404, { 'content-type': 'text/plain; charset=utf-8' }).end('not found\n');
      return;
    }
    if (!guards.every((accepts) => accepts(request, response))) return;
    const rules = { allowUnlimited: deps.acceptUnlimitedTokens ?? false };
    const caller = await authenticate(deps.keys, request, response, rules);
    if (caller === undefined) return;
    // Handlers do not need the token itself.
    const auth = { token: '', clientId: caller.workspaceId, scopes: [], extra: { caller } };
    const { method = 'GET', url = '/mcp' } = request;
    await serveMcp(Object.assign(request, { method, url, auth }), response);
  }

  return {
    handler: (request, response) => {
      serve(request, response).catch((error: unknown) => {
        // The body was too slow; see `endSlowBodies`.
        if (response.writableFinished) return;
        deps.logger.error({ err: error }, 'MCP request failed');
        response.destroy();
      });
    },
    close: () => mcp.close(),
  };
}
