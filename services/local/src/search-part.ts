import { createMetrics, listen, type Logger, parseSigningKey, type RunningServer } from '@uswarm/service-kit';
import {
  createPageOutgoing,
  createPageReader,
  createSearchMetrics,
  createSearchServer,
  measurePages,
  measureSearches,
  type WebSearch,
} from '@uswarm/searxng-client';
import type { OutgoingProxy } from '@uswarm/service-kit/outgoing';

export interface SearchPartOptions {
  search: WebSearch;
  signingKey: string;
  /** For pages. */
  proxy: OutgoingProxy;
  logger: Logger;
}

/** Serves `web_search_tool` and `read_page_tool` on a separate loopback port. @returns its URL for runtimes, and a function that stops it */
export async function startSearchPart({ search, signingKey, proxy, logger }: SearchPartOptions) {
  const metrics = createSearchMetrics(createMetrics('searxng-client'));
  const outgoing = createPageOutgoing(proxy);
  const pages = createPageReader({ outgoing });
  const server = createSearchServer({
    search: measureSearches(search, metrics),
    pages: measurePages(pages, metrics),
    keys: [parseSigningKey(signingKey)],
    logger,
    allowedHosts: ['127.0.0.1', 'localhost'],
  });
  const http: RunningServer = await listen(server.handler, { host: '127.0.0.1', port: 0 });
  return {
    mcpEndpoint: `${http.url}/mcp`,
    close: async () => {
      await server.close();
      await http.close(0);
      await pages.close();
      await outgoing.destroy();
    },
  };
}
