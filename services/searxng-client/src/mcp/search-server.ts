import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { hostHeaderValidation, originValidation, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { allowsPage, allowsQuery, type Logger, type McpCaller, type SigningKey } from '@uswarm/service-kit';
import { WebSearchError, type WebSearchErrorCode } from '../errors.js';
import { PageError, type PageErrorCode } from '../pages/page-error.js';
import type { PageReader } from '../pages/page-reader.js';
import type { WebSearch } from '../web-search.js';
import { authenticate } from './bearer.js';
import { registerReadPageTool } from './read-page-tool.js';
import { registerWebSearchTool } from './web-search-tool.js';
import { createWorkspaceLimiter, type WorkspaceLimits } from './workspace-limiter.js';

/** Request bytes; a query is at most 400 characters, and an address 2,000. */
const MAX_REQUEST_BYTES = 64 * 1024;
/** Milliseconds for which clients may cache the list of tools, which changes with the version only. */
const LIST_TTL_MS = 10 * 60_000;
const NOT_ALLOWED = 'the token is not valid for this query';
const PAGE_NOT_ALLOWED = 'the token is not valid for this address';
const DEFAULT_LIMITS: WorkspaceLimits = { perMinute: 60, concurrent: 4 };

export interface SearchServerDeps {
  search: WebSearch;
  /** Absent: the server has no tool that reads pages. */
  pages?: Pick<PageReader, 'readPage'> | undefined;
  /** Keys that sign tool tokens: the current one and, during a rotation, the previous one. */
  keys: readonly SigningKey[];
  logger: Pick<Logger, 'error' | 'warn'>;
  limits?: WorkspaceLimits;
  /** Called for each search above its workspace's limits. */
  onLimited?: () => void;
  /** Called for each page above them. */
  onPageLimited?: () => void;
  /** Accepted `Host` names; default: any. Loopback servers set theirs. */
  allowedHosts?: readonly string[];
}

export interface SearchServer {
  handler: RequestListener;
  /** Aborts running searches. */
  close(): Promise<void>;
}

const LIMITS_OF_PAGES: Partial<Record<WebSearchErrorCode, PageErrorCode>> = {
  rate_limited: 'rate_limited',
  cancelled: 'cancelled',
};

/** The limiter's error, for a page. */
function toPageError(error: unknown): unknown {
  const code = error instanceof WebSearchError ? LIMITS_OF_PAGES[error.code] : undefined;
  if (code === undefined || !(error instanceof WebSearchError)) return error;
  return new PageError(code, error.message.replace(/^\w+: /, ''), error);
}

/**
 * `web_search_tool` and `read_page_tool` as an MCP server: stateless streamable HTTP at `/mcp`, with a bearer token per turn. Without a
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
  const readPage = async (
    pages: Pick<PageReader, 'readPage'>,
    reader: string,
    ...asked: Parameters<PageReader['readPage']>
  ) => {
    const [args, options] = asked;
    try {
      const read = () => pages.readPage(args, { ...options, reader });
      return await limiter.run(reader, read, options?.signal);
    } catch (error) {
      const failure = toPageError(error);
      if (failure !== error && failure instanceof PageError && failure.code === 'rate_limited') deps.onPageLimited?.();
      throw failure;
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
      const { pages } = deps;
      if (pages !== undefined) {
        registerReadPageTool(
          server,
          async (args, options) => {
            const url = typeof args.url === 'string' ? args.url : '';
            const caller = authInfo?.extra?.['caller'] as McpCaller | undefined;
            if (caller === undefined || !allowsPage(caller, url)) throw new PageError('not_allowed', PAGE_NOT_ALLOWED);
            return readPage(pages, workspaceId, args, options);
          },
          (error) => deps.logger.error({ err: error, workspace_id: workspaceId }, 'reading a page failed'),
        );
      }
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
    const caller = await authenticate(deps.keys, request, response);
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
