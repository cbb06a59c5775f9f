import { randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createPageReader, createSearchServer, createWebSearch, type SearchServer } from '@uswarm/searxng-client';
import { listen, parseSigningKey, silentLogger, verifyMcpToken } from '@uswarm/service-kit';
import type { Task, WorldPage } from '../tasks/task.js';
import { createWebPages } from './web-pages.js';

/** The web of one run. */
export interface SearchableWeb {
  /** The received queries, oldest first. */
  queries: readonly string[];
  /** The requested addresses, oldest first. */
  opened: readonly string[];
}

export interface SearchTools {
  /** Settings of local mode. */
  env: { SVC_MCP_ENDPOINT: string; SVC_MCP_SIGNING_KEY: string };
  /** Gives a workspace these pages. */
  open(workspaceId: string, world: Pick<Task['world'], 'search' | 'pages'>): SearchableWeb;
  forget(workspaceId: string): Promise<void>;
  close(): Promise<void>;
}

interface OpenWeb {
  pages: readonly WorldPage[];
  queries: string[];
  opened: readonly string[];
  server: SearchServer;
  close(): Promise<void>;
}

/** Shorter words say nothing about a page. */
const MIN_WORD = 3;

const wordsOf = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word.length >= MIN_WORD);

/** Pages that contain a query word, those with more words first. */
export function findPages(pages: readonly WorldPage[], query: string): WorldPage[] {
  const wanted = new Set(wordsOf(query));
  const score = ({ title, url, text }: WorldPage): number =>
    [...new Set(wordsOf(`${title} ${url} ${text}`))].filter((word) => wanted.has(word)).length;
  return pages.filter((page) => score(page) > 0).toSorted((a, b) => score(b) - score(a));
}

/**
 * Serves the product's tools for the web. Each workspace has its own pages: behind the search tool is a server with SearXNG's
 * JSON format, which searches in them, and the page reader requests them from memory.
 */
export async function startSearchTools(): Promise<SearchTools> {
  const webs = new Map<string, OpenWeb>();
  const signingKey = `evals:${randomBytes(32).toString('hex')}`;
  const keys = [parseSigningKey(signingKey)];

  const engine: RequestListener = (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://engine');
    const web = webs.get(pathname.split('/')[1] ?? '');
    const query = searchParams.get('q') ?? '';
    web?.queries.push(query);
    const results = findPages(web?.pages ?? [], query).map(({ title, url, text }) => ({
      title,
      url,
      content: text,
      engine: 'evals',
    }));
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify({ query, results, unresponsive_engines: [] }));
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const caller = await verifyMcpToken(keys, token).catch(() => undefined);
    const web = webs.get(caller?.workspaceId ?? '');
    if (web === undefined) response.writeHead(401).end();
    else web.server.handler(request, response);
  }

  const engines = await listen(createServer(engine), { host: '127.0.0.1', port: 0 });
  const tools = await listen((request, response) => void serve(request, response), { host: '127.0.0.1', port: 0 });
  return {
    env: { SVC_MCP_ENDPOINT: `${tools.url}/mcp`, SVC_MCP_SIGNING_KEY: signingKey },
    open(workspaceId, world) {
      const search = createWebSearch({ endpoint: `${engines.url}/${workspaceId}` });
      const web = createWebPages(world.pages, world.search);
      const pages = createPageReader({ outgoing: web });
      const server = createSearchServer({ search, pages, keys, logger: silentLogger });
      const close = async (): Promise<void> => {
        await server.close();
        await pages.close();
      };
      const opened: OpenWeb = { pages: world.search, queries: [], opened: web.opened, server, close };
      webs.set(workspaceId, opened);
      return opened;
    },
    async forget(workspaceId) {
      await webs.get(workspaceId)?.close();
      webs.delete(workspaceId);
    },
    async close() {
      await Promise.all([...webs.values()].map((web) => web.close()));
      await tools.close(0);
      await engines.close(0);
    },
  };
}
