import { createMetrics, listen, type Logger, parseSigningKey, type RunningServer } from '@uswarm/service-kit';
import { createSearchMetrics, createSearchServer, measureSearches, type WebSearch } from '@uswarm/searxng-client';

export interface SearchPartOptions {
  search: WebSearch;
  signingKey: string;
  logger: Logger;
}

/** Serves `web_search_tool` on a separate loopback port. @returns its URL for runtimes, and a function that stops it */
export async function startSearchPart({ search, signingKey, logger }: SearchPartOptions) {
  const server = createSearchServer({
    search: measureSearches(search, createSearchMetrics(createMetrics('searxng-client'))),
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
    },
  };
}
