import { createMetrics, listen, type Logger, parseSigningKey, type RunningServer } from '@uswarm/service-kit';
import { createSearchMetrics, createSearchServer, createWebSearch, measureSearches } from '@uswarm/searxng-client';

export interface SearchPartOptions {
  /** Empty if none is configured: the tool then explains how to configure it. */
  endpoint: string;
  signingKey: string;
  logger: Logger;
}

const HOW_TO_SEARCH =
  'Start SearXNG with `npm start -- --search`, or run it with `npm run searxng` and set SVC_SEARCH_ENDPOINT.';

/** Serves `web_search_tool` on a separate loopback port. @returns its URL for runtimes, and a function that stops it */
export async function startSearchPart({ endpoint, signingKey, logger }: SearchPartOptions) {
  const search = createWebSearch({ endpoint, notConfiguredHint: HOW_TO_SEARCH });
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
