import { randomBytes } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { createSearchServer, type SearchOutcome } from '@uswarm/searxng-client';
import { listen, parseSigningKey, silentLogger } from '@uswarm/service-kit';

/** The tool server with a search whose results a test chooses. */
export interface TestToolServer {
  url: string;
  /** Settings of an orchestrator that uses it. */
  env: Record<string, string>;
  /** What the next search finds. */
  found: SearchOutcome['results'];
  notes: string[];
  /** What was searched for. */
  queries: string[];
  /** Answers in place of the tool server. */
  replacement: RequestListener | undefined;
  close(): Promise<void>;
}

export async function startToolServer(): Promise<TestToolServer> {
  const signingKey = `test:${randomBytes(32).toString('hex')}`;
  const server = createSearchServer({
    keys: [parseSigningKey(signingKey)],
    logger: silentLogger,
    search: {
      async search({ query }) {
        tools.queries.push(String(query));
        return { status: 'ok', results: tools.found, unresponsive_engines: [], notes: tools.notes };
      },
    },
    limits: { perMinute: 10_000, concurrent: 10 },
  });
  const http = await listen((request, response) => (tools.replacement ?? server.handler)(request, response), {
    host: '127.0.0.1',
    port: 0,
  });
  const url = `${http.url}/mcp`;
  const tools: TestToolServer = {
    url,
    env: { SVC_MCP_ENDPOINT: url, SVC_MCP_SIGNING_KEY: signingKey },
    found: [],
    notes: [],
    queries: [],
    replacement: undefined,
    async close() {
      await server.close();
      await http.close(0);
    },
  };
  return tools;
}
