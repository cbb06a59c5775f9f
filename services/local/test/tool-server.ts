import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { createSearchServer, type Page, type SearchOutcome } from '@uswarm/searxng-client';
import { listen, parseSigningKey, silentLogger } from '@uswarm/service-kit';

/** The tool server with a search whose results a test chooses. */
export interface TestToolServer {
  url: string;
  /** Settings for an orchestrator that uses it. */
  env: Record<string, string>;
  /** Next search results. */
  found: SearchOutcome['results'];
  notes: string[];
  /** Searched queries. */
  queries: string[];
  /** The next page. */
  page: Pick<Page, 'title' | 'markdown'>;
  /** Opened addresses. */
  opened: string[];
  /** Treatment of the answers to the next searches, which were executed. Without an entry, they are sent. */
  lostAnswers: ((response: ServerResponse) => void)[];
  /** Answers in place of the tool server. */
  replacement: RequestListener | undefined;
  close(): Promise<void>;
}

export async function startToolServer(): Promise<TestToolServer> {
  const signingKey = `test:${randomBytes(32).toString('hex')}`;
  const responses = new AsyncLocalStorage<ServerResponse>();
  const server = createSearchServer({
    keys: [parseSigningKey(signingKey)],
    logger: silentLogger,
    search: {
      async search({ query }) {
        tools.queries.push(String(query));
        const lose = tools.lostAnswers.shift();
        const response = responses.getStore();
        if (lose !== undefined && response !== undefined) {
          lose(response);
          await once(response, 'close');
        }
        return { status: 'ok', results: tools.found, unresponsive_engines: [], notes: tools.notes };
      },
    },
    pages: {
      async readPage({ url }) {
        tools.opened.push(String(url));
        const about = { author: '', site: '', published: '', language: '', part: 1, parts: 1, notes: [] };
        return { status: 'ok', url: String(url), ...about, ...tools.page };
      },
    },
    limits: { perMinute: 10_000, concurrent: 10 },
  });
  const http = await listen(
    (request, response) => responses.run(response, () => (tools.replacement ?? server.handler)(request, response)),
    { host: '127.0.0.1', port: 0 },
  );
  const url = `${http.url}/mcp`;
  const tools: TestToolServer = {
    url,
    env: { SVC_MCP_ENDPOINT: url, SVC_MCP_SIGNING_KEY: signingKey },
    found: [],
    notes: [],
    queries: [],
    page: { title: 'Weather', markdown: 'Sunny.' },
    opened: [],
    lostAnswers: [],
    replacement: undefined,
    async close() {
      await server.close();
      await http.close(0);
    },
  };
  return tools;
}
